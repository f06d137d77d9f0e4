//! Editable text with a cursor that always stands between grapheme clusters, and undo. Own code because the
//! ready-made text areas move by `char`, which tears emoji and combining marks apart.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::paste;
use crate::tui::terminal::key_table::EditCommand;

/// Undo steps that are kept.
const UNDO_STEPS: usize = 200;

/// What the last change was; typing in one go is undone in one go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BufferChange {
    Typing,
    Deleting,
    Other,
}

/// Text and cursor.
#[derive(Clone, Debug, Default)]
pub struct Buffer {
    text: String,
    /// Byte index, on a grapheme boundary.
    cursor: usize,
    undo: Vec<(String, usize)>,
    last: Option<BufferChange>,
}

impl Buffer {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn cursor(&self) -> usize {
        self.cursor
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Replaces everything; the cursor goes to the end. Can be undone.
    pub fn set(&mut self, text: &str) {
        self.remember(BufferChange::Other);
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
    }

    /// Empties the buffer and forgets its past.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Moves the cursor to the boundary at or after `index`.
    pub fn move_to(&mut self, index: usize) {
        self.last = None;
        self.cursor = self.snap(index);
    }

    pub fn insert(&mut self, text: &str) {
        let mut chars = text.chars();
        let word_part = matches!((chars.next(), chars.next()), (Some(c), None) if !c.is_whitespace());
        self.remember(if word_part { BufferChange::Typing } else { BufferChange::Other });
        self.text.insert_str(self.cursor, text);
        self.cursor = self.snap(self.cursor + text.len());
    }

    /// Replaces `from..cursor` by `text`.
    pub fn replace_before(&mut self, from: usize, text: &str) {
        let from = self.snap(from).min(self.cursor);
        self.remember(BufferChange::Other);
        self.text.replace_range(from..self.cursor, text);
        self.cursor = self.snap(from + text.len());
    }

    /// One editing key. Up and Down depend on the rows on screen: they do nothing here.
    pub fn edit(&mut self, command: EditCommand) {
        let cursor = self.cursor;
        match command {
            EditCommand::Insert(c) => self.insert(&paste::printable(c.encode_utf8(&mut [0; 4]))),
            EditCommand::Newline => self.insert("\n"),
            EditCommand::Left => self.move_to(self.previous(cursor)),
            EditCommand::Right => self.move_to(self.next(cursor)),
            EditCommand::WordLeft => self.move_to(self.word_start()),
            EditCommand::WordRight => self.move_to(self.word_end()),
            // Of the line, not of the soft-wrapped row.
            EditCommand::Home => self.move_to(self.line_start()),
            EditCommand::End => self.move_to(self.line_end()),
            EditCommand::Backspace => self.delete(self.previous(cursor), cursor),
            EditCommand::Delete => self.delete(cursor, self.next(cursor)),
            EditCommand::DeleteWordBack => self.delete(self.word_start(), cursor),
            EditCommand::DeleteWordForward => self.delete(cursor, self.word_end()),
            EditCommand::KillToEnd => {
                // At the end of the line, the line break.
                let end = self.line_end();
                self.delete(cursor, if end == cursor { self.next(end) } else { end });
            }
            EditCommand::KillToStart => {
                let start = self.line_start();
                self.delete(if start == cursor { self.previous(start) } else { start }, cursor);
            }
            EditCommand::Undo => self.undo(),
            EditCommand::Up | EditCommand::Down => {}
        }
    }

    /// Takes back the last change.
    fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo.pop() {
            self.text = text;
            self.cursor = self.snap(cursor);
        }
        self.last = None;
    }

    fn delete(&mut self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        self.remember(BufferChange::Deleting);
        self.text.replace_range(from..to, "");
        // What now meets may have become one cluster.
        self.cursor = self.snap(from);
    }

    fn remember(&mut self, change: BufferChange) {
        if self.last == Some(change) && change != BufferChange::Other {
            return;
        }
        self.last = Some(change);
        if self.undo.last().is_some_and(|(text, _)| *text == self.text) {
            return;
        }
        if self.undo.len() == UNDO_STEPS {
            self.undo.remove(0);
        }
        self.undo.push((self.text.clone(), self.cursor));
    }

    /// The grapheme boundary at or after `index`.
    fn snap(&self, index: usize) -> usize {
        let index = crate::base::text::ceil_boundary(&self.text, index);
        let mut cursor = GraphemeCursor::new(index, self.text.len(), true);
        match cursor.is_boundary(&self.text, 0) {
            Ok(false) => self.next(index),
            _ => index,
        }
    }

    fn previous(&self, index: usize) -> usize {
        let mut cursor = GraphemeCursor::new(index, self.text.len(), true);
        cursor.prev_boundary(&self.text, 0).ok().flatten().unwrap_or(0)
    }

    fn next(&self, index: usize) -> usize {
        let mut cursor = GraphemeCursor::new(index, self.text.len(), true);
        cursor.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len())
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// Start of the word before the cursor.
    fn word_start(&self) -> usize {
        let words = self.text[..self.cursor].split_word_bound_indices();
        words.rev().find(|(_, word)| !word.trim().is_empty()).map_or(0, |(at, _)| at)
    }

    /// End of the word after the cursor.
    fn word_end(&self) -> usize {
        let mut words = self.text[self.cursor..].split_word_bound_indices();
        words
            .find(|(_, word)| !word.trim().is_empty())
            .map_or(self.text.len(), |(at, word)| self.cursor + at + word.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn movement_keeps_clusters_whole() {
        let mut buffer = Buffer::default();
        buffer.insert("a👩‍👩‍👧e\u{301}");
        buffer.edit(EditCommand::Left);
        buffer.edit(EditCommand::Left);
        assert_eq!(buffer.cursor(), 1);
        buffer.edit(EditCommand::Delete);
        assert_eq!(buffer.text(), "ae\u{301}");
    }

    #[test]
    fn words_and_lines() {
        let mut buffer = Buffer::default();
        buffer.insert("one two\nthree");
        buffer.edit(EditCommand::DeleteWordBack);
        assert_eq!(buffer.text(), "one two\n");
        buffer.edit(EditCommand::KillToStart);
        assert_eq!(buffer.text(), "one two");
        buffer.edit(EditCommand::WordLeft);
        buffer.edit(EditCommand::KillToEnd);
        assert_eq!(buffer.text(), "one ");
        buffer.edit(EditCommand::Undo);
        assert_eq!(buffer.text(), "one two");
    }

    #[test]
    fn undo_by_word() {
        let mut buffer = Buffer::default();
        for c in ["a", "b", " ", "c", "d"] {
            buffer.insert(c);
        }
        buffer.edit(EditCommand::Undo);
        assert_eq!(buffer.text(), "ab ");
        buffer.edit(EditCommand::Undo);
        assert_eq!(buffer.text(), "ab");
        buffer.edit(EditCommand::Undo);
        assert_eq!(buffer.text(), "");
    }

    proptest! {
        #[test]
        fn any_edits_keep_the_cursor_on_a_boundary(
            edits in proptest::collection::vec((0u8..15, "(\\PC|[\u{300}-\u{304}]|\u{200d}|👩|🇩|\n| ){0,4}"), 0..40)
        ) {
            let mut buffer = Buffer::default();
            for (kind, text) in edits {
                match kind {
                    0..4 => buffer.insert(&text),
                    4 => buffer.edit(EditCommand::Left),
                    5 => buffer.edit(EditCommand::Right),
                    6 => buffer.edit(EditCommand::WordLeft),
                    7 => buffer.edit(EditCommand::WordRight),
                    8 => buffer.edit(EditCommand::Backspace),
                    9 => buffer.edit(EditCommand::Delete),
                    10 => buffer.edit(EditCommand::DeleteWordBack),
                    11 => buffer.edit(EditCommand::KillToEnd),
                    12 => buffer.edit(EditCommand::KillToStart),
                    13 => buffer.edit(EditCommand::Undo),
                    _ => buffer.edit(EditCommand::DeleteWordForward),
                }
                let at_boundary = buffer.cursor() == buffer.text().len()
                    || buffer.text().grapheme_indices(true).any(|(index, _)| index == buffer.cursor());
                prop_assert!(at_boundary);
            }
        }
    }
}
