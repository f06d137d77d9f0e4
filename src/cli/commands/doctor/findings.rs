//! What the checks have found.

use crate::cli::setup::open::Opened;

/// What the checks look at, and what they say of it.
pub struct Findings<'a> {
    pub opened: &'a Opened,
    text: String,
    /// Whether a model is set up and answers.
    pub works: bool,
}

impl<'a> Findings<'a> {
    /// Nothing found yet.
    pub fn new(opened: &'a Opened) -> Self {
        Self { opened, text: format!("mycode {}\n", env!("CARGO_PKG_VERSION")), works: true }
    }

    /// One fact; a name that is empty goes on with the fact before.
    pub fn line(&mut self, name: &str, value: impl AsRef<str>) {
        self.text.push_str(&format!("{name:<16}{}\n", value.as_ref()));
    }

    /// A sentence of its own, such as `error: …`.
    pub fn sentence(&mut self, sentence: impl AsRef<str>) {
        self.text.push_str(&format!("{}\n", sentence.as_ref()));
    }

    /// The whole report.
    pub fn text(&self) -> &str {
        &self.text
    }
}
