//! One language's table: `english words=term|stem*|several words`, one group per line.

use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::ZlibDecoder;
use rustc_hash::FxHashMap;

use super::language::TaskLanguage;
use base::search::fold::fold;

/// A shorter part of a compound is too often a different word.
const MIN_PART_CHARS: usize = 5;
/// A single character of these scripts occurs in too many words.
const MIN_UNPARTED_CHARS: usize = 2;

pub struct TermTable {
    language: TaskLanguage,
    /// By the first two characters, longest first.
    terms: FxHashMap<[char; 2], Vec<Term>>,
}

struct Term {
    /// A word's characters, and whether it is a stem.
    words: Vec<(Vec<char>, bool)>,
    english: Vec<&'static str>,
}

impl Term {
    fn chars(&self) -> usize {
        self.words.iter().map(|(word, _)| word.len()).sum()
    }
}

macro_rules! table {
    ($language:ident, $file:literal) => {
        (
            TaskLanguage::$language,
            LazyLock::new(|| {
                let data = include_bytes!(concat!(env!("OUT_DIR"), "/", $file));
                TermTable::parse(TaskLanguage::$language, inflated(data))
            }),
        )
    };
}

/// Parsed when a task first needs one.
pub static TABLES: [(TaskLanguage, LazyLock<TermTable>); 8] = [
    table!(Chinese, "zh"),
    table!(Japanese, "ja"),
    table!(Korean, "ko"),
    table!(Russian, "ru"),
    table!(Spanish, "es"),
    table!(Portuguese, "pt"),
    table!(French, "fr"),
    table!(German, "de"),
];

fn inflated(data: &[u8]) -> &'static str {
    let mut text = String::new();
    let _ = ZlibDecoder::new(data).read_to_string(&mut text);
    text.leak()
}

impl TermTable {
    fn parse(language: TaskLanguage, data: &'static str) -> Self {
        let mut terms: FxHashMap<[char; 2], Vec<Term>> = FxHashMap::default();
        for (english, listed) in data.lines().filter_map(|line| line.split_once('=')) {
            for term in listed.split('|') {
                let words: Vec<(Vec<char>, bool)> = fold(term)
                    .split_whitespace()
                    .map(|word| (word.trim_end_matches('*').chars().collect(), word.ends_with('*')))
                    .collect();
                let Some([a, b, ..]) = words.first().map(|(word, _)| word.as_slice()) else { continue };
                let term = Term { english: english.split(' ').collect(), words: words.clone() };
                terms.entry([*a, *b]).or_default().push(term);
            }
        }
        for bucket in terms.values_mut() {
            bucket.sort_by_key(|term| std::cmp::Reverse(term.chars()));
        }
        Self { language, terms }
    }

    /// Calls `each` with the English words of every term in the folded text.
    pub fn find(&self, folded: &str, mut each: impl FnMut(&[&'static str])) {
        if matches!(self.language, TaskLanguage::Chinese | TaskLanguage::Japanese | TaskLanguage::Korean) {
            self.find_unparted(folded, &mut each);
        } else {
            self.find_in_words(folded, &mut each);
        }
    }

    fn find_unparted(&self, text: &str, each: &mut impl FnMut(&[&'static str])) {
        let chars: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
        let mut at = 0;
        while at < chars.len() {
            let rest = &chars[at..];
            let fits = |term: &&Term| {
                let joined = term.words.iter().flat_map(|(word, _)| word);
                term.chars() >= MIN_UNPARTED_CHARS
                    && term.chars() <= rest.len()
                    && joined.eq(&rest[..term.chars()])
            };
            at += self.longest(rest, fits, each).max(1);
        }
    }

    /// Reports all groups with the longest matching term; returns its length.
    fn longest(
        &self,
        rest: &[char],
        fits: impl Fn(&&Term) -> bool,
        each: &mut impl FnMut(&[&'static str]),
    ) -> usize {
        let mut length = 0;
        let [a, b, ..] = rest else { return length };
        for term in self.terms.get(&[*a, *b]).into_iter().flatten().filter(fits) {
            if length > 0 && term.chars() < length {
                break;
            }
            length = term.chars();
            each(&term.english);
        }
        length
    }

    fn find_in_words(&self, text: &str, each: &mut impl FnMut(&[&'static str])) {
        let words: Vec<Vec<char>> = text
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(|word| word.chars().collect())
            .collect();
        for (at, word) in words.iter().enumerate() {
            let fits =
                |term: &&Term| {
                    term.words.len() <= words.len() - at
                        && term.words.iter().zip(&words[at..]).all(|((term, stem), word)| {
                            if *stem { word.starts_with(term) } else { word == term }
                        })
                };
            let length = self.longest(word, fits, each);
            if self.language == TaskLanguage::German {
                self.find_parts(word, length.max(1), each);
            }
        }
    }

    /// Finds terms in later parts of a compound.
    fn find_parts(&self, word: &[char], from: usize, each: &mut impl FnMut(&[&'static str])) {
        let mut at = from;
        while at + MIN_PART_CHARS <= word.len() {
            let rest = &word[at..];
            let fits = |term: &&Term| matches!(term.words.as_slice(), [(part, _)] if part.len() >= MIN_PART_CHARS && rest.starts_with(part));
            at += self.longest(rest, fits, each).max(1);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn longest_terms_win() {
        let table = TermTable::parse(
            TaskLanguage::Chinese,
            "login signin=登录\nlogin log=登录日志\ncart=购物车\nlist=列",
        );
        let mut found = Vec::new();
        table.find("修复登录日志和购物车列", |english| found.push(english.join(" ")));
        assert_eq!(found, ["login log", "cart"]);
    }

    #[test]
    fn stems_words_and_compounds() {
        let table = TermTable::parse(
            TaskLanguage::German,
            "login=anmeld*\ndiscount=rabatt*\nquery=abfrage*\nrow=zeile\ncredit card=kredit* karte*",
        );
        let mut found = Vec::new();
        let text = "Anmeldung mit Rabattabfrage, Zeilen, Zeile, Kreditkarte, Kredit-Karten";
        table.find(&fold(text), |english| found.push(english.join(" ")));
        assert_eq!(found, ["login", "discount", "query", "row", "credit card"]);
    }
}
