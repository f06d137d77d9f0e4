//! Collects what the checks find.

use crate::cli::setup::open::OpenedProject;

pub struct Findings<'a> {
    pub opened: &'a OpenedProject,
    pub text: String,
    pub works: bool,
}

impl<'a> Findings<'a> {
    pub fn new(opened: &'a OpenedProject) -> Self {
        Self { opened, text: format!("mycode {}\n", env!("CARGO_PKG_VERSION")), works: true }
    }

    /// One fact; an empty name continues the previous one.
    pub fn line(&mut self, name: &str, value: impl AsRef<str>) {
        self.text.push_str(&format!("{name:<16}{}\n", value.as_ref()));
    }

    /// A separate sentence, such as `error: …`.
    pub fn sentence(&mut self, sentence: impl AsRef<str>) {
        self.text.push_str(&format!("{}\n", sentence.as_ref()));
    }
}
