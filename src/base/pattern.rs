//! A built-in regular expression, compiled on first use. A mistake in it panics, because a check would
//! otherwise be disabled silently.

use std::ops::Deref;
use std::sync::OnceLock;

use regex::{Captures, Regex};
use regex_automata::meta;
use regex_automata::util::syntax;

#[derive(Debug)]
pub struct Pattern {
    source: &'static str,
    compiled: OnceLock<Regex>,
}

impl Pattern {
    pub const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    /// All matches in a text that contains a sign. For other texts, the pattern isn't even compiled.
    pub fn found_by<'t>(&'static self, signs: &[&str], text: &'t str) -> impl Iterator<Item = Captures<'t>> {
        let is_shown = signs.iter().any(|sign| text.contains(sign));
        is_shown.then(|| self.captures_iter(text)).into_iter().flatten()
    }
}

impl Deref for Pattern {
    type Target = Regex;

    // The source is a constant, and a test compiles every pattern that protects something.
    #[allow(clippy::expect_used)]
    fn deref(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            Regex::new(self.source.trim_end_matches('\n')).expect("a built-in pattern is valid")
        })
    }
}

/// For a sentence or two. Compiles ten times as fast, without preparing what pays off only in long texts. Without `(?u)`
/// at the start, classes and `\b` are ASCII only.
#[derive(Debug)]
pub struct PhrasePattern {
    source: &'static str,
    compiled: OnceLock<meta::Regex>,
}

impl PhrasePattern {
    pub const fn new(source: &'static str) -> Self {
        Self { source, compiled: OnceLock::new() }
    }

    #[allow(clippy::expect_used)]
    pub fn is_match(&self, text: &str) -> bool {
        let syntax = syntax::Config::new().unicode(false).utf8(false);
        let config = meta::Config::new().auto_prefilter(false).dfa(false).hybrid(false).onepass(false);
        let source = self.source.trim_end_matches('\n');
        let compiled = self.compiled.get_or_init(|| {
            let mut builder = meta::Regex::builder();
            builder.configure(config).syntax(syntax).build(source).expect("a built-in pattern is valid")
        });
        compiled.is_match(text)
    }
}
