//! A regular expression that is part of the program. It is compiled when it is first used; a mistake in one panics there,
//! because going on without it would silently switch off a check.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::Regex;

/// A built-in regular expression, used like a [`Regex`].
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

    // The source is a constant of this program, and a test compiles every one that guards something.
    #[allow(clippy::expect_used)]
    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.source).expect("a built-in pattern is valid"))
    }
}
