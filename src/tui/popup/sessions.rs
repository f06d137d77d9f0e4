//! The list of stored sessions (`/resume`).

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use super::list::{self, PopupAction, Selection};
use crate::base::clock;
use crate::base::sanitize;
use crate::base::text;
use crate::protocol::event::SessionRow;
use crate::protocol::op::Op;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::keymap;

/// The open list: the rows whose title or id holds what was typed.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPicker {
    rows: Vec<SessionRow>,
    search: String,
    /// Indices of the rows that are shown.
    found: Vec<usize>,
    selection: Selection,
}

impl SessionPicker {
    pub fn new(rows: Vec<SessionRow>) -> Self {
        let found: Vec<usize> = (0..rows.len()).collect();
        Self { selection: Selection::new(found.len()), search: String::new(), found, rows }
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        if list::closes(key) {
            return PopupAction::Close;
        }
        if key.code == KeyCode::Enter {
            let chosen = self.found.get(self.selection.index).and_then(|row| self.rows.get(*row));
            return chosen.map_or(PopupAction::Nothing, |row| {
                PopupAction::CloseAndSend(Op::Resume { session: row.id.clone() })
            });
        }
        if key.code == KeyCode::Backspace {
            self.search.pop();
            self.find();
        } else if let Some(letter) = keymap::plain_char(key) {
            self.search.push(letter);
            self.find();
        } else {
            self.selection.key(key);
        }
        PopupAction::Nothing
    }

    fn find(&mut self) {
        let wanted = self.search.to_lowercase();
        let holds =
            |row: &SessionRow| row.title.to_lowercase().contains(&wanted) || row.id.starts_with(&wanted);
        self.found = (0..self.rows.len()).filter(|at| holds(&self.rows[*at])).collect();
        self.selection = Selection::new(self.found.len());
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let shown = match self.search.as_str() {
            "" => "  type to search · ↑↓ select · Enter resume · Esc cancel".to_owned(),
            search => format!("  search: {search}▏"),
        };
        let mut lines = vec![Line::from(vec![
            Span::styled("Resume a session", theme.strong()),
            Span::styled(wrap::clip(&shown, width.saturating_sub(16)), theme.dim()),
        ])];
        if self.found.is_empty() {
            lines.push(Line::styled("  No matching session", theme.dim()));
        }
        let now = clock::now_ms();
        for row in self.selection.window(room.saturating_sub(1)) {
            let session = &self.rows[self.found[row]];
            let (mark, style) = theme.row(row == self.selection.index);
            let facts =
                format!("{:<8} {:<10} ", age(now, session.updated_ms), text::plural(session.turns, "turn"));
            let room = width.saturating_sub(2 + facts.len());
            let title = text::one_line(&sanitize::clean(&session.title), 300);
            lines.push(Line::from(vec![
                Span::styled(mark, style),
                Span::styled(facts, theme.dim()),
                Span::styled(wrap::clip(&title, room), style),
            ]));
        }
        lines
    }
}

/// How long ago: `3 min`, `2 h`, `5 d`.
pub fn age(now_ms: u64, then_ms: u64) -> String {
    let minutes = now_ms.saturating_sub(then_ms) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}
