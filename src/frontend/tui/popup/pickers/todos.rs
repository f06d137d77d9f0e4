//! The todo list in full (`/todos`), and the row format that the panel also uses.

use crossterm::event::KeyEvent;
use ratatui::style::Style;
use ratatui::text::Span;

use crate::tui::popup::list::{PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    pub status: String,
    pub content: String,
}

impl Todo {
    /// Neither done nor canceled.
    pub fn is_open(&self) -> bool {
        !matches!(self.status.as_str(), "completed" | "cancelled")
    }

    /// Its mark, its content on one line, and their style.
    pub fn shown(&self, theme: Theme) -> (&'static str, String, Style) {
        let (mark, style) = match self.status.as_str() {
            "completed" => ("☑ ", theme.dim()),
            "in_progress" => ("▶ ", theme.accent()),
            "cancelled" => ("☒ ", theme.dim()),
            _ => ("☐ ", theme.plain()),
        };
        (mark, wrap::one_line(&self.content, 300), style)
    }
}

impl PickRow for Todo {
    const TITLE: &'static str = "Todos";

    fn searched(&self) -> String {
        self.content.clone()
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let (mark, content, style) = self.shown(theme);
        vec![Span::styled(format!("{mark}{}", wrap::clip(&content, width.saturating_sub(2))), style)]
    }

    fn keys(_: Option<&Self>) -> String {
        "Esc close".to_owned()
    }

    fn act(_: Option<&Self>, _: &str, _: KeyEvent) -> Option<PopupAction> {
        None
    }
}
