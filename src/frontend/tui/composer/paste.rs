//! Large pastes stay folded: one private-use character represents the text, so that a megabyte costs nothing
//! to edit around.

use std::sync::Arc;

use base::{sanitize, text};

/// The first private-use character (plane 16) for pastes. Input is stripped of them, so they can't be typed.
const FIRST: u32 = 0x10_0000;
const LAST: u32 = 0x10_fffd;
const FOLD_CHARS: usize = 1_500;
const FOLD_LINES: usize = 12;

/// Nothing is ever removed, because cut, sent or undone text may come back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pastes(Vec<Arc<str>>);

impl Pastes {
    pub fn fold(&mut self, text: &str) -> String {
        let text = printable(text);
        let large = text.len() > FOLD_CHARS || text.bytes().filter(|b| *b == b'\n').count() >= FOLD_LINES;
        let known = self.0.iter().position(|folded| **folded == *text);
        let stand_in =
            u32::try_from(known.unwrap_or(self.0.len())).ok().and_then(|count| char::from_u32(FIRST + count));
        match stand_in {
            Some(c) if large && u32::from(c) <= LAST => {
                if known.is_none() {
                    self.0.push(text.into());
                }
                c.to_string()
            }
            _ => text,
        }
    }

    pub fn unfold(&self, draft: &str) -> String {
        let mut out = String::with_capacity(draft.len());
        for c in draft.chars() {
            match self.get(c) {
                Some(text) => out.push_str(text),
                None => out.push(c),
            }
        }
        out
    }

    pub fn label(&self, grapheme: &str) -> Option<String> {
        let mut chars = grapheme.chars();
        let paste = self.get(chars.next()?)?;
        let lines = paste.trim_end_matches('\n').split('\n').count();
        Some(if lines > 1 {
            format!("[Pasted {} lines]", thousands(lines))
        } else {
            format!("[Pasted {}]", text::human_bytes(paste.len() as u64))
        })
    }

    pub fn get(&self, c: char) -> Option<&Arc<str>> {
        let index = u32::from(c).checked_sub(FIRST)?;
        self.0.get(usize::try_from(index).ok()?)
    }
}

pub fn printable(text: &str) -> String {
    let cleaned = sanitize::clean(text);
    if cleaned.chars().any(is_stand_in) {
        cleaned.chars().filter(|c| !is_stand_in(*c)).collect()
    } else {
        cleaned.into_owned()
    }
}

fn is_stand_in(c: char) -> bool {
    (FIRST..=LAST).contains(&u32::from(c))
}

fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_paste_folds() {
        let mut pastes = Pastes::default();
        let large = "line\n".repeat(1_234);
        let draft = format!("see {} end", pastes.fold(&large));
        assert_eq!(draft.chars().count(), "see X end".len());
        assert_eq!(pastes.unfold(&draft), format!("see {large} end"));
        assert_eq!(pastes.label(&draft[4..8]).as_deref(), Some("[Pasted 1,234 lines]"));
    }

    #[test]
    fn small_pastes_are_text() {
        assert_eq!(Pastes::default().fold("a\r\nb\u{1b}[31m\u{100000}"), "a\nb");
    }
}
