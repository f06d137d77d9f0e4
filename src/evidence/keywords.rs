//! The words of a task that are compared with other tasks.

use crate::rank::query::Query;
use base::search::words::listed;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    pub text: String,
    /// Whether it is exact: an identifier, a path, quoted text, a stack frame.
    pub strong: bool,
}

const MAX_KEYWORDS: usize = 60;
/// Shorter words are ignored, except in scripts where each character is a syllable or word.
const MIN_CHARS: usize = 3;

const CODING: &str = "\
    add fix implement creat updat chang remov delet refactor writ support allow handl modif improv code file \
    function method class error fail test";

/// In text order, strong ones first.
pub fn extract(query: &Query) -> Vec<Keyword> {
    let mut found: Vec<Keyword> = Vec::new();
    let mut note = |text: &str, strong: bool| {
        if !found.iter().any(|known| known.text == text) {
            found.push(Keyword { text: text.to_owned(), strong });
        }
    };
    for frame in &query.frames {
        note(&frame.to_lowercase(), true);
    }
    for path in &query.paths {
        note(&path.to_lowercase(), true);
    }
    for quoted in query.quoted.iter().filter(|quoted| quoted.chars().count() <= 60) {
        note(&quoted.to_lowercase(), true);
    }
    for (name, sure) in &query.identifiers {
        if *sure >= 0.8 {
            note(name, true);
        }
    }
    for word in &query.words {
        let long = word.term.chars().count() >= MIN_CHARS || !word.term.is_ascii();
        if long && !listed(CODING, &word.term) {
            note(&word.term, false);
        }
    }
    found.sort_by_key(|keyword| !keyword.strong);
    found.truncate(MAX_KEYWORDS);
    found
}

/// Share of the smaller list that is in the other: 0–1. Strong words count double.
fn overlap(a: &[Keyword], b: &[Keyword]) -> f64 {
    let weight = |keyword: &Keyword| if keyword.strong { 2.0 } else { 1.0 };
    let sum = |words: &[Keyword]| words.iter().map(weight).sum::<f64>();
    let (small, large) = if sum(a) <= sum(b) { (a, b) } else { (b, a) };
    let shared: f64 =
        small.iter().filter(|keyword| large.iter().any(|other| other.text == keyword.text)).map(weight).sum();
    if small.is_empty() { 0.0 } else { shared / sum(small) }
}

const SAME_TASK: f64 = 0.5;
/// Fewer words don't make a new task ("yes", "go on").
const MIN_NEW_WORDS: usize = 2;

pub fn is_new_task(before: &[Keyword], now: &[Keyword]) -> bool {
    let fresh = || now.iter().filter(|keyword| !before.iter().any(|known| known.text == keyword.text));
    let says_much = fresh().count() >= MIN_NEW_WORDS || fresh().any(|keyword| keyword.strong);
    says_much && overlap(before, now) <= SAME_TASK
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Keyword> {
        extract(&Query::parse(text))
    }

    #[test]
    fn strong_keywords() {
        let found = words("Fix parse_row in src/table.rs: it says `bad cell` 修复登录");
        let strong: Vec<&str> =
            found.iter().filter(|word| word.strong).map(|word| word.text.as_str()).collect();
        assert_eq!(strong, ["src/table.rs", "bad cell", "parse_row"]);
        let has = |text: &str| found.iter().any(|word| word.text == text);
        assert!(has("登录") && has("cell") && !has("fix"));
    }

    #[test]
    fn follow_ups() {
        let first = words("The basket total ignores the voucher");
        assert!(is_new_task(&[], &first));
        for follow_up in ["yes, go on", "", "the voucher of the basket is still ignored in the total"] {
            assert!(!is_new_task(&first, &words(follow_up)), "{follow_up}");
        }
        assert!(is_new_task(&first, &words("Login page: session cookie expires early")));
    }

    #[test]
    fn keyword_overlap() {
        let task = words("basket total ignores the voucher");
        assert!(overlap(&task, &words("the voucher must lower the basket total")) > 0.5);
        assert!(overlap(&task, &words("login page colors")) < 0.1);
        assert!(overlap(&task, &[]) == 0.0);
    }
}
