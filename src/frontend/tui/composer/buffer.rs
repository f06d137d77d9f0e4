//! Editable text with undo, redo and a kill ring. The cursor is always between grapheme clusters; existing
//! text areas move by `char` and split emoji and combining marks.

use std::ops::Range;

use crossterm::event::KeyEvent;
use unicode_segmentation::UnicodeSegmentation;

use crate::tui::composer::{grapheme, paste};
use crate::tui::terminal::key_table::EditCommand;
use crate::tui::terminal::keymap;

const UNDO_STEPS: usize = 200;
const MOST_CUTS: usize = 30;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BufferChange {
    Typing,
    Deleting,
    /// The next cut is appended to this one.
    Cutting,
    /// A piece was put back; it starts at this index.
    Yanking(usize),
    Other,
}

#[derive(Clone, Debug, Default)]
pub struct Buffer {
    text: String,
    cursor: usize,
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
    cut: KillRing,
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

    pub fn set(&mut self, text: &str) {
        self.remember(BufferChange::Other);
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
    }

    pub fn reset(&mut self) {
        *self = Self { cut: std::mem::take(&mut self.cut), ..Self::default() };
    }

    pub fn move_to(&mut self, index: usize) {
        self.last = None;
        self.cursor = grapheme::snap(&self.text, index);
    }

    pub fn insert(&mut self, text: &str) {
        let mut chars = text.chars();
        let word_part = matches!((chars.next(), chars.next()), (Some(c), None) if !c.is_whitespace());
        self.remember(if word_part { BufferChange::Typing } else { BufferChange::Other });
        self.text.insert_str(self.cursor, text);
        self.cursor = grapheme::snap(&self.text, self.cursor + text.len());
    }

    pub fn replace_before(&mut self, from: usize, text: &str) {
        let from = grapheme::snap(&self.text, from).min(self.cursor);
        self.remember(BufferChange::Other);
        self.text.replace_range(from..self.cursor, text);
        self.cursor = grapheme::snap(&self.text, from + text.len());
    }

    /// `cursor` is an index into the new text.
    pub fn replace_range(&mut self, range: Range<usize>, text: &str, cursor: usize) {
        self.remember(BufferChange::Other);
        self.text.replace_range(range, text);
        self.cursor = grapheme::snap(&self.text, cursor);
    }

    pub fn undo_depth(&self) -> usize {
        self.undo.len()
    }

    pub fn merge_undo(&mut self, depth: usize) {
        self.undo.truncate(depth + 1);
        self.last = None;
    }

    pub fn type_key(&mut self, key: KeyEvent) {
        if let Some(edit) = keymap::edit(key).filter(|edit| *edit != EditCommand::Newline) {
            self.edit(edit);
        }
    }

    pub fn paste_line(&mut self, text: &str) {
        self.insert(&paste::printable(text).replace('\n', " "));
    }

    /// Applies an editing key. Up, Down and folds depend on the screen, so the composer handles them.
    pub fn edit(&mut self, command: EditCommand) {
        let cursor = self.cursor;
        match command {
            EditCommand::Insert(c) => self.insert(&paste::printable(c.encode_utf8(&mut [0; 4]))),
            EditCommand::Newline => self.insert("\n"),
            EditCommand::Left => self.move_to(grapheme::previous(&self.text, cursor)),
            EditCommand::Right => self.move_to(grapheme::next(&self.text, cursor)),
            EditCommand::WordLeft => self.move_to(self.word_start()),
            EditCommand::WordRight => self.move_to(self.word_end()),
            EditCommand::LineStart => self.move_to(grapheme::line_start(&self.text, cursor)),
            EditCommand::LineEnd => self.move_to(grapheme::line_end(&self.text, cursor)),
            EditCommand::Backspace => self.delete(grapheme::previous(&self.text, cursor), cursor),
            EditCommand::Delete => self.delete(cursor, grapheme::next(&self.text, cursor)),
            EditCommand::CutWordLeft => self.cut(self.word_start(), cursor),
            EditCommand::CutSpacedWordLeft => self.cut(self.spaced_word_start(), cursor),
            EditCommand::CutWordRight => self.cut(cursor, self.word_end()),
            EditCommand::CutToEnd => {
                let end = grapheme::line_end(&self.text, cursor);
                self.cut(cursor, if end == cursor { grapheme::next(&self.text, end) } else { end });
            }
            EditCommand::CutToStart => {
                let start = grapheme::line_start(&self.text, cursor);
                self.cut(if start == cursor { grapheme::previous(&self.text, start) } else { start }, cursor);
            }
            EditCommand::Yank => self.yank(),
            EditCommand::YankOlder => self.yank_pop(),
            EditCommand::Undo => self.undo(),
            EditCommand::Redo => self.redo(),
            EditCommand::Up | EditCommand::Down | EditCommand::OpenPaste => {}
        }
    }

    pub fn undo(&mut self) {
        if let Some((text, cursor)) = self.undo.pop() {
            self.redo.push((std::mem::replace(&mut self.text, text), self.cursor));
            self.cursor = grapheme::snap(&self.text, cursor);
        }
        self.last = None;
    }

    pub fn redo(&mut self) {
        if let Some((text, cursor)) = self.redo.pop() {
            self.undo.push((std::mem::replace(&mut self.text, text), self.cursor));
            self.cursor = grapheme::snap(&self.text, cursor);
        }
        self.last = None;
    }

    fn yank(&mut self) {
        let Some(piece) = self.cut.last().map(str::to_owned) else { return };
        let start = self.cursor;
        self.insert(&piece);
        self.last = Some(BufferChange::Yanking(start));
    }

    fn yank_pop(&mut self) {
        let Some(BufferChange::Yanking(start)) = self.last else { return };
        let Some(piece) = self.cut.older().map(str::to_owned) else { return };
        self.replace_before(start, &piece);
        self.last = Some(BufferChange::Yanking(start));
    }

    pub fn cut(&mut self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        self.cut.keep(&self.text[from..to], to <= self.cursor, self.last == Some(BufferChange::Cutting));
        self.last = None;
        self.delete(from, to);
        self.last = Some(BufferChange::Cutting);
    }

    fn delete(&mut self, from: usize, to: usize) {
        if from >= to {
            return;
        }
        self.remember(BufferChange::Deleting);
        self.text.replace_range(from..to, "");
        // The joined parts may form one cluster.
        self.cursor = grapheme::snap(&self.text, from);
    }

    fn remember(&mut self, change: BufferChange) {
        let goes_on = self.last == Some(change) && change != BufferChange::Other;
        self.last = Some(change);
        self.redo.clear();
        if goes_on {
            return;
        }
        if self.undo.last().is_some_and(|(text, _)| *text == self.text) {
            return;
        }
        if self.undo.len() == UNDO_STEPS {
            self.undo.remove(0);
        }
        self.undo.push((self.text.clone(), self.cursor));
    }

    fn word_start(&self) -> usize {
        let mut words = self.text[..self.cursor].split_word_bound_indices().rev();
        let Some((at, word)) = words.find(|(_, word)| is_word(word)) else { return 0 };
        let run = words.take_while(|(_, piece)| is_same_script(word, piece));
        run.last().map_or(at, |(at, _)| at)
    }

    fn spaced_word_start(&self) -> usize {
        let before = self.text[..self.cursor].trim_end();
        let space = before.char_indices().rev().find(|(_, c)| c.is_whitespace());
        space.map_or(0, |(at, c)| at + c.len_utf8())
    }

    fn word_end(&self) -> usize {
        let mut words = self.text[self.cursor..].split_word_bound_indices();
        let Some((at, word)) = words.find(|(_, word)| is_word(word)) else { return self.text.len() };
        let run = words.take_while(|(_, piece)| is_same_script(word, piece));
        let (at, word) = run.last().unwrap_or((at, word));
        self.cursor + at + word.len()
    }
}

/// Chinese and Japanese have no spaces between words, so a run of one script counts as a word.
fn is_same_script(word: &str, piece: &str) -> bool {
    let script = |text: &str| match text.chars().next()? {
        '\u{3041}'..='\u{309f}' => Some(0),
        '々' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}' => Some(1),
        _ => None,
    };
    script(word).is_some() && script(word) == script(piece)
}

fn is_word(piece: &str) -> bool {
    piece.chars().any(|c| !c.is_whitespace() && !c.is_ascii_punctuation())
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KillRing {
    pieces: Vec<String>,
    /// How many pieces back the cycling is.
    back: usize,
}

impl KillRing {
    /// Consecutive cuts are merged; `before` puts a piece in front of the last.
    pub fn keep(&mut self, piece: &str, before: bool, in_a_row: bool) {
        self.back = 0;
        match self.pieces.last_mut().filter(|_| in_a_row) {
            Some(last) if before => last.insert_str(0, piece),
            Some(last) => last.push_str(piece),
            None => {
                if self.pieces.len() == MOST_CUTS {
                    self.pieces.remove(0);
                }
                self.pieces.push(piece.to_owned());
            }
        }
    }

    pub fn last(&mut self) -> Option<&str> {
        self.back = 0;
        self.pieces.last().map(String::as_str)
    }

    pub fn older(&mut self) -> Option<&str> {
        let count = self.pieces.len();
        self.back = (self.back + 1).checked_rem(count)?;
        self.pieces.get(count - 1 - self.back).map(String::as_str)
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
        buffer.edit(EditCommand::CutWordLeft);
        assert_eq!(buffer.text(), "one two\n");
        buffer.edit(EditCommand::CutToStart);
        assert_eq!(buffer.text(), "one two");
        buffer.edit(EditCommand::WordLeft);
        buffer.edit(EditCommand::CutToEnd);
        assert_eq!(buffer.text(), "one ");
        buffer.edit(EditCommand::Undo);
        assert_eq!(buffer.text(), "one two");
        let mut buffer = Buffer::default();
        buffer.insert("請檢查ファイルの中、これ");
        buffer.edit(EditCommand::CutWordLeft);
        assert_eq!(buffer.text(), "請檢查ファイルの中、");
        buffer.edit(EditCommand::LineStart);
        buffer.edit(EditCommand::CutWordRight);
        assert_eq!(buffer.text(), "ファイルの中、");
    }

    #[test]
    fn cut_and_put_back() {
        let mut buffer = Buffer::default();
        buffer.insert("see src/a-b.rs now");
        buffer.edit(EditCommand::CutSpacedWordLeft);
        buffer.edit(EditCommand::CutSpacedWordLeft);
        assert_eq!(buffer.text(), "see ");
        buffer.edit(EditCommand::LineStart);
        buffer.edit(EditCommand::CutWordRight);
        buffer.edit(EditCommand::Yank);
        buffer.edit(EditCommand::YankOlder);
        assert_eq!(buffer.text(), "src/a-b.rs now ");
        buffer.edit(EditCommand::YankOlder);
        assert_eq!(buffer.text(), "see ");
        buffer.edit(EditCommand::CutWordLeft);
        assert_eq!(buffer.text(), " ");
        buffer.edit(EditCommand::Undo);
        buffer.edit(EditCommand::Undo);
        assert_eq!(buffer.text(), "src/a-b.rs now ");
        buffer.edit(EditCommand::Redo);
        assert_eq!(buffer.text(), "see ");
        buffer.insert("x");
        buffer.edit(EditCommand::Redo);
        assert_eq!(buffer.text(), "seex ", "what was typed since leads elsewhere");
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
            edits in proptest::collection::vec((0u8..20, "(\\PC|[\u{300}-\u{304}]|\u{200d}|👩|🇩|\n| ){0,4}"), 0..40)
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
                    10 => buffer.edit(EditCommand::CutWordLeft),
                    11 => buffer.edit(EditCommand::CutToEnd),
                    12 => buffer.edit(EditCommand::CutToStart),
                    13 => buffer.edit(EditCommand::Undo),
                    14 => buffer.edit(EditCommand::Redo),
                    15 => buffer.edit(EditCommand::Yank),
                    16 => buffer.edit(EditCommand::YankOlder),
                    17 => buffer.edit(EditCommand::CutSpacedWordLeft),
                    18 => buffer.set(&text),
                    _ => buffer.edit(EditCommand::CutWordRight),
                }
                let at_boundary = buffer.cursor() == buffer.text().len()
                    || buffer.text().grapheme_indices(true).any(|(index, _)| index == buffer.cursor());
                prop_assert!(at_boundary);
            }
            while !buffer.redo.is_empty() {
                buffer.edit(EditCommand::Redo);
            }
            let last = buffer.text().to_owned();
            while !buffer.undo.is_empty() {
                buffer.edit(EditCommand::Undo);
            }
            prop_assert_eq!(buffer.text(), "");
            while !buffer.redo.is_empty() {
                buffer.edit(EditCommand::Redo);
            }
            prop_assert_eq!(buffer.text(), last);
        }

        #[test]
        fn a_cut_piece_comes_back(text in "[a-c é-]{0,20}", back in 0usize..20, kind in 0u8..5) {
            let mut buffer = Buffer::default();
            buffer.insert(&text);
            (0..back).for_each(|_| buffer.edit(EditCommand::Left));
            let cuts = [
                EditCommand::CutToEnd,
                EditCommand::CutToStart,
                EditCommand::CutWordLeft,
                EditCommand::CutWordRight,
                EditCommand::CutSpacedWordLeft,
            ];
            let cut = cuts[usize::from(kind)];
            buffer.edit(cut);
            buffer.edit(cut);
            if buffer.text() != text {
                buffer.edit(EditCommand::Yank);
            }
            prop_assert_eq!(buffer.text(), text);
        }
    }
}
