//! The English words for a task's terms, best first.

use super::language::{self, TaskLanguage};
use super::table::TABLES;
use base::search::fold::fold;

/// More would outweigh the task's own words.
const MAX_ENGLISH: usize = 60;
const MAX_TEXT_BYTES: usize = 8_000;

/// The languages as in [`super::language::of`] the whole task.
pub fn english(text: &str, languages: &[TaskLanguage]) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    if languages.is_empty() {
        return found;
    }
    let folded = fold(&text[..text.floor_char_boundary(MAX_TEXT_BYTES)]);
    for (_, table) in TABLES.iter().filter(|(language, _)| languages.contains(language)) {
        table.find(&folded, |words| {
            for word in words {
                if found.len() < MAX_ENGLISH && !found.contains(word) {
                    found.push(word);
                }
            }
        });
    }
    found
}

pub fn with_english(text: &str) -> String {
    format!("{text} {}", english(text, &language::of(text)).join(" "))
}

/// What was searched for besides the task's own words; `None` for an English task.
pub fn note(text: &str) -> Option<String> {
    let words = english(text, &language::of(text));
    (!words.is_empty()).then(|| format!("Also searched for: {}", words.join(", ")))
}
