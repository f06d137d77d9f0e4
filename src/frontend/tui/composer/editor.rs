//! The composer as the rest of the screen sees it: buffer, folded pastes and history together.

use unicode_segmentation::UnicodeSegmentation;

use super::buffer::Buffer;
use super::history::PromptHistory;
use super::layout::{self, Layout};
use super::paste::{self, Pastes};
use super::vim::state::Vim;
use crate::tui::terminal::key_table::EditCommand;

/// Text set by the program is folded only beyond this, in bytes: a user's own prompt stays readable.
const KEEP_OPEN_BYTES: usize = 20_000;

/// The composer's state.
#[derive(Clone, Debug, Default)]
pub struct Composer {
    buffer: Buffer,
    /// Of all drafts.
    pastes: Pastes,
    history: PromptHistory,
    /// While it edits as vi does.
    vim: Option<Vim>,
    /// The cell that Up and Down aim for.
    goal: Option<usize>,
}

/// The rows to draw and the caret in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    pub rows: Vec<String>,
    /// Row and cell.
    pub caret: (usize, usize),
}

impl Composer {
    pub fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// The text with folds still closed; indices of [`Composer::cursor`] refer to it.
    pub fn text(&self) -> &str {
        self.buffer.text()
    }

    pub fn cursor(&self) -> usize {
        self.buffer.cursor()
    }

    /// The whole text, folds opened.
    pub fn full_text(&self) -> String {
        self.pastes.unfold(self.buffer.text())
    }

    /// One editing key; `width` is the width of the text area in cells.
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

    pub fn vim(&self) -> Option<&Vim> {
        self.vim.as_ref()
    }

    /// Esc as vi has it; whether it meant something.
    pub fn vim_escape(&mut self) -> bool {
        self.vim.as_mut().is_some_and(|vim| vim.escape(&mut self.buffer))
    }

    /// A key of vi's normal mode; whether it is on.
    pub fn vim_key(&mut self, key: char, width: usize) -> bool {
        let Some(vim) = self.vim.as_mut().filter(|vim| vim.is_normal()) else { return false };
        self.goal = None;
        if let Some(edit) = vim.key(&mut self.buffer, key) {
            self.edit(edit, width);
        }
        true
    }

    pub fn paste(&mut self, text: &str) {
        self.goal = None;
        let text = self.pastes.fold(text);
        self.buffer.insert(&text);
    }

    /// `\` before the cursor at the end of a line asks for a line break instead of sending.
    pub fn take_line_continuation(&mut self) -> bool {
        let cursor = self.buffer.cursor();
        if !self.buffer.text()[..cursor].ends_with('\\') {
            return false;
        }
        self.buffer.replace_before(cursor - 1, "\n");
        true
    }

    /// Replaces the text between byte `from` and the cursor.
    pub fn complete(&mut self, from: usize, text: &str) {
        self.buffer.replace_before(from, &paste::printable(text));
    }

    /// Takes the whole text out, folds opened, and remembers the draft.
    pub fn take(&mut self) -> String {
        let text = self.full_text();
        self.stash();
        text
    }

    /// Empties the composer; the draft stays in the history.
    pub fn stash(&mut self) {
        self.history.push(self.buffer.text().to_owned());
        self.buffer.reset();
        self.goal = None;
        self.vim.iter_mut().for_each(Vim::reset);
    }

    /// Adds a text to what Up goes through.
    pub fn remember(&mut self, text: &str) {
        let draft = self.pastes.fold(text);
        self.history.push(draft);
    }

    /// Puts a text back that was sent in vain.
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

    /// Replaces the text, such as by what an editor made of it; undo brings it back.
    pub fn replace(&mut self, text: &str) {
        if text == self.full_text() {
            return;
        }
        self.goal = None;
        let text = match text.len() > KEEP_OPEN_BYTES {
            true => self.pastes.fold(text),
            false => paste::printable(text),
        };
        self.buffer.set(&text);
    }

    /// Opens the fold at the cursor, or before it.
    fn open_paste(&mut self) {
        let cursor = self.buffer.cursor();
        let behind = self.buffer.text()[cursor..].chars().next();
        let before = self.buffer.text()[..cursor].chars().next_back();
        if let Some((c, text)) = behind.and_then(|c| Some((c, self.pastes.get(c)?.to_string()))) {
            self.buffer.move_to(cursor + c.len_utf8());
            self.buffer.replace_before(cursor, &text);
        } else if let Some((c, text)) = before.and_then(|c| Some((c, self.pastes.get(c)?.to_string()))) {
            self.buffer.replace_before(cursor - c.len_utf8(), &text);
        }
    }

    /// Puts a text that comes back before the draft.
    pub fn prepend(&mut self, text: &str) {
        let draft = self.full_text();
        if draft.trim().is_empty() {
            self.restore(text);
        } else {
            self.restore(&format!("{text}\n{draft}"));
        }
    }

    /// Rows and caret at `width` cells.
    pub fn draw(&self, width: usize) -> Drawn {
        let text = self.buffer.text();
        let layout = Layout::new(text, &self.pastes, width);
        let rows = layout
            .rows()
            .iter()
            .map(|row| text[row.clone()].graphemes(true).map(|g| layout::shown(g, &self.pastes)).collect())
            .collect();
        Drawn { rows, caret: layout.position(text, &self.pastes, self.buffer.cursor()) }
    }

    fn show(&mut self, draft: &str) {
        self.buffer.reset();
        self.buffer.set(draft);
    }

    /// Up and Down go through rows first, then through history.
    fn vertical(&mut self, step: isize, width: usize) {
        let text = self.buffer.text();
        let layout = Layout::new(text, &self.pastes, width);
        let (row, column) = layout.position(text, &self.pastes, self.buffer.cursor());
        let goal = self.goal.unwrap_or(column);
        match row.checked_add_signed(step).filter(|row| *row < layout.rows().len()) {
            Some(target) => {
                let index = layout.index(text, &self.pastes, target, goal);
                self.buffer.move_to(index);
                self.goal = Some(goal);
            }
            None => {
                let draft = if step < 0 { self.history.older(text.to_owned()) } else { self.history.newer() };
                if let Some(draft) = draft {
                    self.show(&draft);
                    self.goal = None;
                }
            }
        }
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
        composer.edit(EditCommand::KillToStart, 60);
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
