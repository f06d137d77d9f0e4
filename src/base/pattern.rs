//! A built-in regular expression, compiled on first use. A mistake panics there: without the panic, a check
//! would be silently disabled.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;

#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    pub const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }
}

impl Deref for Pattern {
    type Target = Regex;

    // The source is a constant, and a test compiles every pattern that guards something.
    #[allow(clippy::expect_used)]
    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.source).expect("a built-in pattern is valid"))
    }
}
