//! Names in text: what an agent refers back to. The one definition of an identifier and of a file name, and the index of
//! names that stands for text which is left out, so that the model can tell what a Recall would bring. Pure.

use std::collections::{HashMap, HashSet};

use crate::context::tokens::estimate::estimate;

/// The shortest word that is taken for a name, in bytes.
const NAME_BYTES: usize = 4;

/// Identifiers: runs of ASCII letters, digits and `_` that begin with no digit, of four bytes or more.
pub fn identifiers(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .filter(|word| word.len() >= NAME_BYTES && !word.as_bytes()[0].is_ascii_digit())
}

/// File names: the last part of a path, with an ending of one to five letters or digits.
pub fn file_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'))).filter_map(|word| {
        let word = word.trim_matches('.');
        let (stem, ending) = word.rsplit_once('.')?;
        let ends_well = (1..=5).contains(&ending.len())
            && ending.bytes().all(|b| b.is_ascii_alphanumeric())
            && ending.bytes().any(|b| b.is_ascii_alphabetic());
        (ends_well && stem.bytes().any(|b| b.is_ascii_alphabetic())).then_some(word)
    })
}

/// Whether a name looks like one of code rather than a plain word: it has an underscore, a digit, or a capital inside.
pub fn is_code_like(name: &str) -> bool {
    let bytes = name.as_bytes();
    bytes.iter().any(|b| *b == b'_' || b.is_ascii_digit())
        || bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// Words longer than this are data rather than names, in bytes.
const LONGEST: usize = 48;

/// The names in `text` with their worth: files before names of code before words in a place where code has names.
pub fn ranked(text: &str) -> impl Iterator<Item = (&str, u32)> {
    let all = file_names(text).map(|name| (true, name)).chain(identifiers(text).map(|name| (false, name)));
    all.filter(|(_, name)| name.len() <= LONGEST).filter_map(move |(file, name)| {
        let rank = if file {
            8
        } else if is_code_like(name) && !is_data(name) {
            4
        } else {
            u32::from(name.as_bytes()[0].is_ascii_uppercase() || stands_as_name(text, name))
        };
        (rank > 0).then_some((name, rank))
    })
}

/// Names in `sources` that are neither in `shown` nor in `known`, the likeliest first, in about `max_tokens`.
pub fn index<'a>(
    sources: impl Iterator<Item = &'a str>,
    shown: &str,
    known: &HashSet<&str>,
    max_tokens: u64,
) -> String {
    let mut seen: HashSet<&str> = identifiers(shown).chain(file_names(shown)).collect();
    let mut found: HashMap<&str, (u32, usize)> = HashMap::new();
    let mut order = 0;
    for text in sources {
        for (file, name) in
            file_names(text).map(|name| (true, name)).chain(identifiers(text).map(|name| (false, name)))
        {
            if name.len() > LONGEST || seen.contains(name) || known.contains(name) {
                continue;
            }
            // Files, then names of code, then words in a place where code has names; more often first among equals.
            let rank = if file {
                8
            } else if is_code_like(name) && !is_data(name) {
                4
            } else if name.as_bytes()[0].is_ascii_uppercase() || stands_as_name(text, name) {
                1
            } else {
                0
            };
            order += 1;
            let entry = found.entry(name).or_insert((rank, order));
            entry.0 += u32::from(rank > 0);
        }
    }
    let mut ranked: Vec<(&str, (u32, usize))> =
        found.into_iter().filter(|(_, (rank, _))| *rank > 0).collect();
    ranked.sort_by(|a, b| b.1.0.cmp(&a.1.0).then(a.1.1.cmp(&b.1.1)));
    let mut out = String::new();
    let mut spent = 0;
    for (name, _) in ranked {
        if !seen.insert(name) {
            continue;
        }
        spent += u64::from(estimate(name));
        if spent > max_tokens {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(name);
    }
    out
}

/// Whether `name`, a part of `text`, is called, accessed, assigned or declared there.
fn stands_as_name(text: &str, name: &str) -> bool {
    let start = name.as_ptr() as usize - text.as_ptr() as usize;
    let bytes = text.as_bytes();
    let before = start.checked_sub(1).and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
    let behind = bytes.get(start + name.len()).copied().unwrap_or(b' ');
    matches!(before, b'.' | b'/' | b'"' | b'\'' | b'-')
        || matches!(behind, b'(' | b':' | b'=' | b'.' | b'/' | b'-')
}

/// Hashes and numbers with letters in them: half digits or more.
fn is_data(name: &str) -> bool {
    name.bytes().filter(u8::is_ascii_digit).count() * 3 > name.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_files() {
        let text = "let x_max = readFile(\"src/a-b/main.rs\") + 12ab; e.g. v1.2 foo.tar.gz";
        assert_eq!(identifiers(text).collect::<Vec<_>>(), ["x_max", "readFile", "main"]);
        assert_eq!(file_names(text).collect::<Vec<_>>(), ["main.rs", "e.g", "foo.tar.gz"]);
        assert!(is_code_like("x_max") && is_code_like("readFile") && !is_code_like("Result"));
    }

    #[test]
    fn files_and_code_names_that_are_not_in_view() {
        let known = HashSet::from(["already_known"]);
        let text =
            "see src/a.rs: fn parse_all(already_known: Thing) returns deadbeef0123456789 quickly shown_name";
        assert_eq!(index([text].into_iter(), "shown_name", &known, 100), "a.rs parse_all Thing");
    }
}
