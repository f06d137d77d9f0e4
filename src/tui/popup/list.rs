//! What popups share: a list with one chosen row, of which a window is shown, and what a key asks for.

use crossterm::event::KeyEvent;

use crate::config::theme::ThemeName;
use crate::protocol::op::Op;
use crate::tui::terminal::key_table::{Action, ListMove, Place};
use crate::tui::terminal::keymap;

/// Rows that PgUp and PgDn move by.
const PAGE: usize = 8;

/// The chosen index among `len` rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    pub index: usize,
    len: usize,
}

impl Selection {
    pub fn new(len: usize) -> Self {
        Self { index: 0, len }
    }

    /// Moves the choice, round at the ends; whether the key does that.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let last = self.len.saturating_sub(1);
        let Some(Action::List(step)) = keymap::action(Place::List, key) else { return false };
        self.index = match step {
            ListMove::Up if self.index == 0 => last,
            ListMove::Up => self.index - 1,
            ListMove::Down if self.index >= last => 0,
            ListMove::Down => self.index + 1,
            ListMove::PageUp => self.index.saturating_sub(PAGE),
            ListMove::PageDown => (self.index + PAGE).min(last),
            ListMove::First => 0,
            ListMove::Last => last,
            ListMove::Close => return false,
        };
        true
    }

    /// The rows to show when there is room for `room`.
    pub fn window(&self, room: usize) -> std::ops::Range<usize> {
        let room = room.max(1);
        let start = (self.index + 1).saturating_sub(room).min(self.len.saturating_sub(room));
        start..(start + room).min(self.len)
    }
}

/// What a key in a popup asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum PopupAction {
    Nothing,
    Close,
    Send(Op),
    CloseAndSend(Op),
    /// Put this into the clipboard.
    Copy(String),
    /// Draw in these colors, to try them.
    Theme(ThemeName),
    CloseAndTheme {
        name: ThemeName,
        keep: bool,
    },
}

/// Whether the key closes a popup.
pub fn closes(key: KeyEvent) -> bool {
    keymap::action(Place::List, key) == Some(Action::List(ListMove::Close))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::{KeyCode, KeyModifiers};

    #[test]
    fn selection_window() {
        let mut selection = Selection::new(10);
        let mut press = |code| {
            assert!(selection.key(KeyEvent::new(code, KeyModifiers::NONE)));
            selection.window(4)
        };
        assert_eq!(press(KeyCode::Up), 6..10);
        assert_eq!(press(KeyCode::Down), 0..4);
        assert_eq!(press(KeyCode::PageDown), 5..9);
        assert_eq!(press(KeyCode::End), 6..10);
        assert_eq!(Selection::new(0).window(4), 0..0);
    }
}
