//! The todo list in full (`/todos`), and the row format that the panel also uses.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::tui::popup::list::PickRow;
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use base::model::observation::{Todo, TodoStatus};

pub fn shown(todo: &Todo, theme: Theme) -> (&'static str, String, Style) {
    let (mark, style) = match todo.status {
        TodoStatus::Completed => ("☑ ", theme.dim()),
        TodoStatus::InProgress => ("▶ ", theme.accent()),
        TodoStatus::Cancelled => ("☒ ", theme.dim()),
        TodoStatus::Pending => ("☐ ", theme.plain()),
    };
    (mark, wrap::one_line(&todo.content, 300), style)
}

impl PickRow for Todo {
    const TITLE: &'static str = "Todos";

    fn searched(&self) -> String {
        self.content.clone()
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let (mark, content, style) = shown(self, theme);
        vec![Span::styled(format!("{mark}{}", wrap::clip(&content, width.saturating_sub(2))), style)]
    }

    fn keys(_: Option<&Self>) -> String {
        "Esc close".to_owned()
    }
}
