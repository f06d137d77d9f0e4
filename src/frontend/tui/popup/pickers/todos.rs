//! The todo list in full (`/todos`), and the row format that the panel also uses.

use crossterm::event::KeyEvent;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use base::sanitize;
use base::text;

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

    pub fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let (mark, style): (&str, Style) = match self.status.as_str() {
            "completed" => ("☑ ", theme.dim()),
            "in_progress" => ("▶ ", theme.accent()),
            "cancelled" => ("☒ ", theme.dim()),
            _ => ("☐ ", theme.plain()),
        };
        let content = text::one_line(&sanitize::clean(&self.content), 300);
        vec![Span::styled(format!("{mark}{}", wrap::clip(&content, width.saturating_sub(2))), style)]
    }
}

impl PickRow for Todo {
    fn searched(&self) -> String {
        self.content.clone()
    }

    fn is_same(&self, other: &Self) -> bool {
        self.content == other.content
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        Self::spans(self, width, theme)
    }
}

#[derive(Clone, Debug)]
pub struct TodoList(PickList<Todo>);

impl TodoList {
    pub fn new(todos: Vec<Todo>) -> Self {
        Self(PickList::new(todos))
    }

    pub fn fill(&mut self, todos: Vec<Todo>) {
        self.0.fill(todos);
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        if list::closes(key) {
            return PopupAction::Close;
        }
        self.0.key(key);
        PopupAction::Nothing
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        self.0.lines("Todos", "Esc close", width, room, theme)
    }
}
