//! The English words for a task's terms, best first.

use std::iter;

use super::language::{self, TaskLanguage};
use super::table::TABLES;
use base::search::fold::fold;

const MAX_ENGLISH: usize = 60;
const MAX_TEXT_BYTES: usize = 8_000;

/// `languages` is [`super::language::of`] the whole task.
pub fn english(text: &str, languages: &[TaskLanguage]) -> Vec<&'static str> {
    by_term(text, languages).concat()
}

fn by_term(text: &str, languages: &[TaskLanguage]) -> Vec<Vec<&'static str>> {
    let mut found: Vec<Vec<&'static str>> = Vec::new();
    if languages.is_empty() {
        return found;
    }
    let folded = fold(&text[..text.floor_char_boundary(MAX_TEXT_BYTES)]);
    for (_, table) in TABLES.iter().filter(|(language, _)| languages.contains(language)) {
        table.find(&folded, |words| {
            let known = found.concat();
            let new = words.iter().filter(|word| !known.contains(word));
            found.push(new.take(MAX_ENGLISH - known.len()).copied().collect());
        });
    }
    found
}

/// The text, then the English words of each of its terms.
pub fn concepts(text: &str) -> Vec<String> {
    let translated = by_term(text, &language::of(text)).into_iter().map(|words| words.join(" "));
    iter::once(text.to_owned()).chain(translated).collect()
}

/// What was searched for in addition to the task's own words; `None` for an English task.
pub fn note(text: &str) -> Option<String> {
    let words = english(text, &language::of(text));
    (!words.is_empty()).then(|| format!("Also searched for: {}", words.join(", ")))
}
