//! A rule finds one kind of secret with a pattern, which is tried only in texts that contain one of its signs. One pass over
//! a text finds the signs of all rules.

use std::ops::Range;
use std::sync::OnceLock;

use base::pattern::Pattern;
use regex::Captures;

pub type PatternMatch = (Range<usize>, &'static str);

pub struct Rule {
    /// The text must contain one of these words (of each group); most texts don't.
    signs: &'static str,
    pub pattern: Pattern,
    /// Where the secret is in a match, and its kind; `None` if it isn't a secret after all.
    secret: fn(&Captures<'_>) -> Option<PatternMatch>,
}

impl Rule {
    pub const fn new(
        signs: &'static str,
        pattern: &'static str,
        secret: fn(&Captures<'_>) -> Option<PatternMatch>,
    ) -> Self {
        Self { signs, pattern: Pattern::new(pattern), secret }
    }
}

pub struct RuleSet<const N: usize> {
    pub rules: [Rule; N],
    signs: OnceLock<Signs>,
}

impl<const N: usize> RuleSet<N> {
    pub const fn new(rules: [Rule; N]) -> Self {
        Self { rules, signs: OnceLock::new() }
    }

    /// Secrets in `text`, by the rules whose signs occur in `signs_in`.
    pub fn find(&'static self, text: &str, signs_in: &str) -> impl Iterator<Item = PatternMatch> {
        let signs = self.signs.get_or_init(|| Signs::of(&self.rules));
        let shown = signs.shown(signs_in);
        let tried = self.rules.iter().zip(&signs.needed).filter(move |(_, needed)| **needed & !shown == 0);
        tried.flat_map(move |(rule, _)| {
            rule.pattern.captures_iter(text).filter_map(|found| (rule.secret)(&found))
        })
    }
}

struct Signs {
    /// Sorted by first byte; each with the bit of its group.
    words: Vec<(&'static [u8], u64)>,
    /// Where the words with each first byte begin.
    starts: [usize; 257],
    needed: Vec<u64>,
}

impl Signs {
    fn of(rules: &[Rule]) -> Self {
        let (mut words, mut needed) = (Vec::new(), Vec::new());
        let mut group = 1;
        for rule in rules {
            let mut all = 0;
            for signs in rule.signs.split(" & ") {
                words.extend(signs.split(' ').map(|word| (word.as_bytes(), group)));
                all |= group;
                group <<= 1;
            }
            needed.push(all);
        }
        words.sort_unstable_by_key(|(word, _)| word[0]);
        let starts =
            std::array::from_fn(|byte| words.partition_point(|(word, _)| usize::from(word[0]) < byte));
        Self { words, starts, needed }
    }

    fn shown(&self, text: &str) -> u64 {
        let bytes = text.as_bytes();
        let mut shown = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let byte = usize::from(*byte);
            for (word, group) in &self.words[self.starts[byte]..self.starts[byte + 1]] {
                if shown & group == 0 && bytes[at..].starts_with(word) {
                    shown |= group;
                }
            }
        }
        shown
    }
}
