//! The composer as the rest of the screen sees it: buffer, folded pastes and history together.

use unicode_segmentation::UnicodeSegmentation;

use super::buffer::Buffer;
use super::history::{Draft, PromptHistory};
use super::layout::{self, Layout};
use super::paste::{self, Pastes};
use crate::tui::terminal::key_table::EditCommand;

/// Text set by the program is folded only beyond this, in bytes: a user's own prompt stays readable.
const KEEP_OPEN_BYTES: usize = 20_000;

/// The composer's state.
#[derive(Clone, Debug, Default)]
pub struct Composer {
    buffer: Buffer,
    pastes: Pastes,
    history: PromptHistory,
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
            edit => self.buffer.edit(edit),
        }
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
        let draft = self.draft();
        self.history.push(draft);
        self.buffer.reset();
        self.pastes = Pastes::default();
        self.goal = None;
    }

    /// Puts a text back that was sent in vain.
    pub fn restore(&mut self, text: &str) {
        match self.history.last() {
            Some(draft) if draft.pastes.unfold(&draft.text) == text => {
                let draft = draft.clone();
                self.show(draft);
            }
            _ if text.len() > KEEP_OPEN_BYTES => self.paste(text),
            _ => self.buffer.set(&paste::printable(text)),
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

    fn draft(&self) -> Draft {
        Draft { text: self.buffer.text().to_owned(), pastes: self.pastes.clone() }
    }

    fn show(&mut self, draft: Draft) {
        self.pastes = draft.pastes;
        self.buffer.reset();
        self.buffer.set(&draft.text);
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
                let draft = if step < 0 { self.history.older(self.draft()) } else { self.history.newer() };
                if let Some(draft) = draft {
                    self.show(draft);
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
    fn backslash_enter() {
        let mut composer = typed("a\\");
        assert!(composer.take_line_continuation());
        assert_eq!(composer.text(), "a\n");
        assert!(!composer.take_line_continuation());
    }
}
