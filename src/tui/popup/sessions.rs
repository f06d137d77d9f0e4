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

/// The open list.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionPicker {
    rows: Vec<SessionRow>,
    selection: Selection,
}

impl SessionPicker {
    pub fn new(rows: Vec<SessionRow>) -> Self {
        Self { selection: Selection::new(rows.len()), rows }
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        if key.code == KeyCode::Enter {
            let chosen = self.rows.get(self.selection.index);
            return chosen.map_or(PopupAction::Close, |row| {
                PopupAction::CloseAndSend(Op::Resume { session: row.id.clone() })
            });
        }
        self.selection.key(key);
        if list::closes(key) { PopupAction::Close } else { PopupAction::Nothing }
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = vec![Line::from(vec![
            Span::styled("Resume a session", theme.strong()),
            Span::styled("  ↑↓ select · Enter resume · Esc cancel", theme.dim()),
        ])];
        let now = clock::now_ms();
        for row in self.selection.window(room.saturating_sub(1)) {
            let session = &self.rows[row];
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
