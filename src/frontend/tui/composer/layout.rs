//! Layout of the composer's text: soft-wrapped rows, and mapping between bytes and cells.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::paste::Pastes;
use crate::tui::render::wrap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub rows: Vec<Range<usize>>,
}

impl Layout {
    pub fn new(text: &str, pastes: &Pastes, max: usize) -> Self {
        let mut rows = Vec::new();
        let mut at = 0;
        for line in text.split('\n') {
            for row in wrap::rows_with(line, max, |grapheme| cells(grapheme, pastes).min(max.max(1))) {
                rows.push(row.start + at..row.end + at);
            }
            at += line.len() + 1;
        }
        Self { rows }
    }

    pub fn position(&self, text: &str, pastes: &Pastes, cursor: usize) -> (usize, usize) {
        let row = self.rows.iter().rposition(|row| row.start <= cursor).unwrap_or(0);
        let start = self.rows.get(row).map_or(0, |row| row.start);
        let column = text.get(start..cursor).unwrap_or("").graphemes(true).map(|g| cells(g, pastes)).sum();
        (row, column)
    }

    pub fn index(&self, text: &str, pastes: &Pastes, row: usize, column: usize) -> usize {
        let Some(range) = self.rows.get(row) else { return text.len() };
        let mut at = range.start;
        let mut reached = 0;
        for grapheme in text[range.clone()].graphemes(true) {
            reached += cells(grapheme, pastes);
            if reached > column {
                break;
            }
            at += grapheme.len();
        }
        // The end of a soft-wrapped row is the start of the next one; stay on this row.
        let soft = self.rows.get(row + 1).is_some_and(|next| next.start == range.end);
        if soft && at == range.end && at > range.start {
            let last = text[range.clone()].graphemes(true).next_back().map_or(0, str::len);
            at -= last;
        }
        at
    }
}

pub fn shown<'t>(grapheme: &'t str, pastes: &Pastes) -> std::borrow::Cow<'t, str> {
    match pastes.label(grapheme) {
        Some(label) => label.into(),
        None => wrap::detab(grapheme),
    }
}

fn cells(grapheme: &str, pastes: &Pastes) -> usize {
    wrap::width(&shown(grapheme, pastes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caret_and_rows_agree() {
        let pastes = Pastes::default();
        let text = "日本語 text\nx";
        let layout = Layout::new(text, &pastes, 7);
        assert_eq!(layout.rows.len(), 3);
        assert_eq!(layout.position(text, &pastes, "日本".len()), (0, 4));
        assert_eq!(layout.position(text, &pastes, text.len()), (2, 1));
        assert_eq!(layout.index(text, &pastes, 0, 3), "日".len());
        assert_eq!(layout.position(text, &pastes, "日本語 ".len()), (1, 0));
    }
}
