//! The composer: buffer, folded pastes and history of drafts combined, and the layout of its soft-wrapped rows.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use crate::tui::composer::buffer::Buffer;
use crate::tui::composer::paste::{self, Pastes};
use crate::tui::composer::vim::state::Vim;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::EditCommand;

/// Text set by the program is folded only beyond this, so that the user's own prompts stay readable.
const KEEP_OPEN_BYTES: usize = 20_000;
const MOST_DRAFTS: usize = 200;

#[derive(Clone, Debug, Default)]
pub struct Composer {
    buffer: Buffer,
    pastes: Pastes,
    history: PromptHistory,
    pub vim: Option<Vim>,
    goal: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    pub rows: Vec<String>,
    pub caret: (usize, usize),
}

impl Composer {
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Folds are closed; [`Composer::cursor`] is an index into it.
    pub fn text(&self) -> &str {
        self.buffer.text()
    }

    pub fn cursor(&self) -> usize {
        self.buffer.cursor()
    }

    pub fn full_text(&self) -> String {
        self.pastes.unfold(self.buffer.text())
    }

    pub fn edit(&mut self, edit: EditCommand, width: usize) {
        if !matches!(edit, EditCommand::Up | EditCommand::Down) {
            self.goal = None;
        }
        match edit {
            EditCommand::Up => self.vertical(-1, width),
            EditCommand::Down => self.vertical(1, width),
            EditCommand::OpenPaste => self.open_paste(),
            edit => self.buffer.edit(edit),
        }
        if let Some(vim) = &mut self.vim {
            vim.typed(edit);
            vim.settle(&mut self.buffer);
        }
    }

    pub fn set_vim(&mut self, on: bool) {
        self.vim = on.then(Vim::default);
    }

    pub fn vim_escape(&mut self) -> bool {
        self.vim.as_mut().is_some_and(|vim| vim.escape(&mut self.buffer))
    }

    pub fn vim_key(&mut self, key: char, width: usize) -> bool {
        let Some(vim) = self.vim.as_mut().filter(|vim| vim.normal) else { return false };
        self.goal = None;
        if let Some(edit) = vim.key(&mut self.buffer, key) {
            self.edit(edit, width);
        }
        true
    }

    /// Pasting the same text again right after its fold opens it.
    pub fn paste(&mut self, text: &str) {
        self.goal = None;
        let text = self.pastes.fold(text);
        let is_fold = text.chars().next().is_some_and(|c| self.pastes.get(c).is_some());
        if is_fold && self.buffer.text()[..self.buffer.cursor()].ends_with(&text) {
            return self.open_paste();
        }
        self.buffer.insert(&text);
    }

    /// Returns `false` if there is no `\` before the cursor.
    pub fn take_line_continuation(&mut self) -> bool {
        let cursor = self.buffer.cursor();
        if !self.buffer.text()[..cursor].ends_with('\\') {
            return false;
        }
        self.buffer.replace_before(cursor - 1, "\n");
        true
    }

    pub fn complete(&mut self, from: usize, text: &str) {
        self.buffer.replace_before(from, &paste::printable(text));
    }

    pub fn take(&mut self) -> String {
        let text = self.full_text();
        self.stash();
        text
    }

    pub fn stash(&mut self) {
        self.history.push(self.buffer.text().to_owned());
        self.buffer.reset();
        self.goal = None;
        self.vim.iter_mut().for_each(Vim::reset);
    }

    pub fn remember(&mut self, text: &str) {
        let draft = self.pastes.fold(text);
        self.history.push(draft);
    }

    pub fn restore(&mut self, text: &str) {
        match self.history.last() {
            Some(draft) if self.pastes.unfold(draft) == text => {
                let draft = draft.to_owned();
                self.show(&draft);
            }
            _ if text.len() > KEEP_OPEN_BYTES => self.paste(text),
            _ => self.buffer.set(&paste::printable(text)),
        }
    }

    pub fn replace(&mut self, text: &str) {
        if text == self.full_text() {
            return;
        }
        self.goal = None;
        let is_long = text.len() > KEEP_OPEN_BYTES;
        self.buffer.set(&if is_long { self.pastes.fold(text) } else { paste::printable(text) });
    }

    fn open_paste(&mut self) {
        let cursor = self.buffer.cursor();
        let behind = self.buffer.text()[cursor..].chars().next().map(|c| (cursor, c));
        let before = self.buffer.text()[..cursor].chars().next_back().map(|c| (cursor - c.len_utf8(), c));
        let fold = behind.into_iter().chain(before).find_map(|(at, c)| Some((at, c, self.pastes.get(c)?)));
        if let Some((at, c, text)) = fold {
            self.buffer.move_to(at + c.len_utf8());
            self.buffer.replace_before(at, text);
        }
    }

    pub fn prepend(&mut self, text: &str) {
        let draft = self.full_text();
        if draft.trim().is_empty() {
            self.restore(text);
        } else {
            self.restore(&format!("{text}\n{draft}"));
        }
    }

    pub fn draw(&self, width: usize) -> Drawn {
        let (text, rows) = (self.buffer.text(), self.rows(width));
        let caret = self.position(&rows);
        let drawn = |row: Range<usize>| text[row].graphemes(true).map(|g| self.shown(g)).collect();
        Drawn { rows: rows.into_iter().map(drawn).collect(), caret }
    }

    fn rows(&self, width: usize) -> Vec<Range<usize>> {
        let (mut rows, mut at) = (Vec::new(), 0);
        for line in self.buffer.text().split('\n') {
            for row in wrap::rows_with(line, width, |grapheme| self.cells(grapheme).min(width.max(1))) {
                rows.push(row.start + at..row.end + at);
            }
            at += line.len() + 1;
        }
        rows
    }

    fn position(&self, rows: &[Range<usize>]) -> (usize, usize) {
        let (text, cursor) = (self.buffer.text(), self.buffer.cursor());
        let row = rows.iter().rposition(|row| row.start <= cursor).unwrap_or(0);
        let start = rows.get(row).map_or(0, |row| row.start);
        let before = text.get(start..cursor).unwrap_or("").graphemes(true);
        (row, before.map(|grapheme| self.cells(grapheme)).sum())
    }

    fn index(&self, rows: &[Range<usize>], row: usize, column: usize) -> usize {
        let Some(range) = rows.get(row) else { return self.buffer.text().len() };
        let mut graphemes = self.buffer.text()[range.clone()].graphemes(true);
        let (mut at, mut reached) = (range.start, 0);
        for grapheme in graphemes.clone() {
            reached += self.cells(grapheme);
            if reached > column {
                break;
            }
            at += grapheme.len();
        }
        // The end of a soft-wrapped row is the start of the next one; stay on this row.
        let soft = rows.get(row + 1).is_some_and(|next| next.start == range.end);
        let last = graphemes.next_back().map_or(0, str::len);
        if soft && at == range.end && at > range.start { at - last } else { at }
    }

    fn shown<'t>(&self, grapheme: &'t str) -> Cow<'t, str> {
        self.pastes.label(grapheme).map_or_else(|| wrap::detab(grapheme), Cow::Owned)
    }

    fn cells(&self, grapheme: &str) -> usize {
        wrap::width(&self.shown(grapheme))
    }

    fn show(&mut self, draft: &str) {
        self.buffer.reset();
        self.buffer.set(draft);
    }

    fn vertical(&mut self, step: isize, width: usize) {
        let rows = self.rows(width);
        let (row, column) = self.position(&rows);
        let goal = self.goal.unwrap_or(column);
        if let Some(target) = row.checked_add_signed(step).filter(|row| *row < rows.len()) {
            let index = self.index(&rows, target, goal);
            self.buffer.move_to(index);
            self.goal = Some(goal);
            return;
        }
        let draft = if step < 0 { self.history.older(self.buffer.text()) } else { self.history.newer() };
        if let Some(draft) = draft {
            self.show(&draft);
            self.goal = None;
        }
    }
}

#[derive(Clone, Debug, Default)]
struct PromptHistory {
    drafts: Vec<String>,
    browsing: Option<(usize, String)>,
}

impl PromptHistory {
    pub fn push(&mut self, draft: String) {
        self.browsing = None;
        if draft.trim().is_empty() || self.drafts.last() == Some(&draft) {
            return;
        }
        if self.drafts.len() == MOST_DRAFTS {
            self.drafts.remove(0);
        }
        self.drafts.push(draft);
    }

    pub fn older(&mut self, current: &str) -> Option<String> {
        let last = self.drafts.len().checked_sub(1)?;
        let (index, _) = self.browsing.get_or_insert((last + 1, current.to_owned()));
        *index = index.checked_sub(1)?;
        self.drafts.get(*index).cloned()
    }

    pub fn newer(&mut self) -> Option<String> {
        let (index, kept) = self.browsing.take()?;
        let Some(draft) = self.drafts.get(index + 1) else { return Some(kept) };
        self.browsing = Some((index + 1, kept));
        Some(draft.clone())
    }

    pub fn last(&self) -> Option<&str> {
        self.drafts.last().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Composer {
        let mut composer = Composer::default();
        for c in text.chars() {
            composer.edit(if c == '\n' { EditCommand::Newline } else { EditCommand::Insert(c) }, 20);
        }
        composer
    }

    #[test]
    fn up_key() {
        let mut composer = typed("first");
        assert_eq!(composer.take(), "first");
        for c in "ab\ncd".chars() {
            composer.edit(if c == '\n' { EditCommand::Newline } else { EditCommand::Insert(c) }, 20);
        }
        composer.edit(EditCommand::Up, 20);
        assert_eq!((composer.text(), composer.cursor()), ("ab\ncd", 2));
        composer.edit(EditCommand::Up, 20);
        assert_eq!(composer.text(), "first");
        composer.edit(EditCommand::Down, 20);
        assert_eq!(composer.text(), "ab\ncd");
    }

    #[test]
    fn restored_paste_is_folded() {
        let mut composer = typed("look: ");
        composer.paste(&"x\n".repeat(5_000));
        let drawn = composer.draw(60);
        assert_eq!(drawn.rows, ["look: [Pasted 5,000 lines]"]);
        assert_eq!(drawn.caret, (0, 26));
        let sent = composer.take();
        assert_eq!(sent.len(), 6 + 10_000);
        composer.restore(&sent);
        assert_eq!(composer.draw(60), drawn);
    }

    #[test]
    fn pastes_outlive_their_draft_and_open() {
        let mut composer = typed("a ");
        composer.paste(&"x\n".repeat(20));
        composer.edit(EditCommand::CutToStart, 60);
        composer.edit(EditCommand::Insert('b'), 60);
        composer.take();
        composer.edit(EditCommand::Yank, 60);
        assert_eq!(composer.draw(60).rows, ["a [Pasted 20 lines]"]);
        composer.edit(EditCommand::OpenPaste, 60);
        assert_eq!(composer.text(), format!("a {}", "x\n".repeat(20)));
        composer.edit(EditCommand::Undo, 60);
        composer.edit(EditCommand::Left, 60);
        composer.edit(EditCommand::OpenPaste, 60);
        assert_eq!(composer.draw(60).rows.len(), 21);
    }

    #[test]
    fn backslash_enter() {
        let mut composer = typed("a\\");
        assert!(composer.take_line_continuation());
        assert_eq!(composer.text(), "a\n");
        assert!(!composer.take_line_continuation());
    }
}

#[cfg(test)]
mod layout_tests {
    use super::*;

    #[test]
    fn caret_and_rows_agree() {
        let mut composer = Composer::default();
        composer.buffer.set("日本語 text\nx");
        let rows = composer.rows(7);
        assert_eq!(rows.len(), 3);
        let end = composer.text().len();
        for (cursor, place) in [("日本".len(), (0, 4)), (end, (2, 1)), ("日本語 ".len(), (1, 0))] {
            composer.buffer.move_to(cursor);
            assert_eq!(composer.position(&rows), place);
        }
        assert_eq!(composer.index(&rows, 0, 3), "日".len());
    }
}

#[cfg(test)]
mod history_tests {
    use super::*;

    fn text(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn history_round_trip() {
        let mut history = PromptHistory::default();
        history.push(text("one"));
        history.push(text("two"));
        assert_eq!(history.older("new"), Some(text("two")));
        assert_eq!(history.older("two"), Some(text("one")));
        assert_eq!(history.older("one"), None);
        assert_eq!(history.newer(), Some(text("two")));
        assert_eq!(history.newer(), Some(text("new")));
        assert_eq!(history.newer(), None);
    }
}
