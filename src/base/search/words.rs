//! Splits text into words: identifiers and their parts, stemmed, and character pairs for scripts without spaces.
//! An index and its queries must use the same words.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::fold::{fold, is_cjk, stem};

/// Longer runs are data, not names.
const MAX_WORD_BYTES: usize = 64;

pub fn listed(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == word)
}

/// Words without information about a subject: function words, and the verbs of every coding task.
static STOP_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("stop_words.txt").split_whitespace().map(stem).collect());

/// A complete identifier tells more than a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermKind {
    Part,
    Word,
    /// Several parts joined: `read_file`, `readFile`.
    Identifier,
}

/// Lowercase; words and parts are stemmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    pub text: String,
    pub kind: TermKind,
}

/// All terms in order, including repetitions and stop words.
pub fn terms(text: &str) -> Vec<Term> {
    let mut out = Vec::new();
    each(text, |text, kind| out.push(Term { text: text.to_owned(), kind }));
    out
}

/// Like [`terms`] without collecting them, for large texts.
pub fn each(text: &str, mut take: impl FnMut(&str, TermKind)) {
    raw(text, |word| expand(word, &mut take));
}

/// The terms without stop words and single letters, each once with its strongest kind.
pub fn telling(text: &str) -> Vec<Term> {
    let mut found: Vec<Term> = Vec::new();
    let mut indices: HashMap<String, usize> = HashMap::new();
    for term in terms(text) {
        if term.text.len() < 2 || STOP_WORDS.contains(&*term.text) {
            continue;
        }
        let index = *indices.entry(term.text.clone()).or_insert(found.len());
        match found.get_mut(index) {
            Some(known) => known.kind = known.kind.max(term.kind),
            None => found.push(term),
        }
    }
    found
}

pub fn longest_term(name: &str) -> String {
    let mut longest = String::new();
    each(name, |term, _| {
        if term.len() > longest.len() {
            longest = term.to_owned();
        }
    });
    longest
}

/// Calls `each` with every run of letters, digits and `_`, and every pair of neighboring CJK characters.
pub fn raw<'a>(text: &'a str, mut each: impl FnMut(&'a str)) {
    let is_word = |word: &str| (2..=MAX_WORD_BYTES).contains(&word.len());
    for run in text.split(|c: char| !(c.is_alphanumeric() || c == '_' || is_cjk(c))) {
        let (mut start, mut pair) = (0, None);
        for (at, c) in run.char_indices().filter(|(_, c)| is_cjk(*c)) {
            let end = at + c.len_utf8();
            match pair.filter(|_| start == at) {
                Some(before) => each(&run[before..end]),
                None if is_word(&run[start..at]) => each(&run[start..at]),
                None => {}
            }
            (pair, start) = (Some(at), end);
        }
        if is_word(&run[start..]) {
            each(&run[start..]);
        }
    }
}

/// The word's stemmed parts, then the full word if it has several. Nothing for numbers and apparent hashes.
pub fn expand(word: &str, mut each: impl FnMut(&str, TermKind)) {
    let core = word.trim_matches('_');
    if core.is_empty() || is_noise(core) {
        return;
    }
    let mut count = 0;
    parts(core, |part| {
        count += 1;
        let lower = fold(part);
        if part.len() < core.len() {
            if lower.len() > 1 && !lower.bytes().all(|byte| byte.is_ascii_digit()) {
                each(stem(&lower), TermKind::Part);
            }
        } else {
            each(stem(&lower), TermKind::Word);
        }
    });
    if count > 1 {
        each(&fold(core), TermKind::Identifier);
    }
}

fn is_noise(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits == word.len() && !(3..=5).contains(&digits)
        || word.len() >= 16 && digits >= 3 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Splits `HTTPServer_name2` into `HTTP`, `Server`, `name2`.
pub fn parts<'a>(word: &'a str, mut each: impl FnMut(&'a str)) {
    let bytes = word.as_bytes();
    let mut start = 0;
    for at in 1..=bytes.len() {
        let cut = at == bytes.len() || bytes[at] == b'_' || {
            let (before, here) = (bytes[at - 1], bytes[at]);
            let next = bytes.get(at + 1).copied().unwrap_or(b'_');
            before == b'_'
                || here.is_ascii_uppercase()
                    && (before.is_ascii_lowercase()
                        || before.is_ascii_digit()
                        || next.is_ascii_lowercase()
                            && before.is_ascii_uppercase()
                            && !is_plural_mark(bytes, at))
        };
        if !cut {
            continue;
        }
        if start < at && bytes[start] != b'_' {
            each(&word[start..at]);
        }
        start = at;
    }
}

/// The last capital of `URLs` belongs to the part before it.
fn is_plural_mark(bytes: &[u8], at: usize) -> bool {
    bytes.get(at + 1) == Some(&b's') && bytes.get(at + 2).is_none_or(|byte| !byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Vec<String> {
        terms(text).into_iter().map(|term| term.text).collect()
    }

    #[test]
    fn identifiers_come_whole_and_in_parts() {
        assert_eq!(all("HTTPServer"), ["http", "server", "httpserver"]);
        assert_eq!(all("__get_item__"), ["get", "item", "get_item"]);
        assert_eq!(all("readFileSync2"), ["read", "file", "sync2", "readfilesync2"]);
        assert_eq!(all("URLs validators"), ["url", "validator"]);
        assert_eq!(telling("very many themes").len(), 1, "a theme isn't `them`");
        assert_eq!(all("a 12 404 1234567 deadbeefdeadbeef0123"), ["404"]);
    }

    #[test]
    fn scripts_without_spaces_come_in_pairs() {
        assert_eq!(all("修复登录bug"), ["修复", "复登", "登录", "bug"]);
        assert_eq!(all("foo修复bar"), ["foo", "修复", "bar"]);
        assert_eq!(all("größe – Ärger…"), ["große", "arger"]);
    }

    #[test]
    fn stop_words_are_left_out() {
        let telling: Vec<String> =
            telling("please fix the login of the login_page").into_iter().map(|term| term.text).collect();
        assert_eq!(telling, ["login", "page", "login_page"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_text(text in "\\PC{0,80}") {
            for term in terms(&text) {
                prop_assert!(!term.text.is_empty());
            }
        }
    }
}
