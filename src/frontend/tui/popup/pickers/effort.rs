//! How long the model may think (`/effort`).

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::Span;

use crate::tui::popup::list::{PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use base::protocol::op::{Idle, Op};

#[derive(Clone, Debug, PartialEq)]
pub struct EffortRow {
    pub name: &'static str,
    pub default: bool,
    pub now: bool,
}

impl PickRow for EffortRow {
    const TITLE: &'static str = "Effort";

    fn searched(&self) -> String {
        self.name.to_owned()
    }

    fn spans(&self, _: usize, theme: Theme) -> Vec<Span<'static>> {
        let about = match (self.now, self.default) {
            (true, _) => "in use",
            (false, true) => "the model's default",
            _ => "",
        };
        vec![Span::raw(format!("{:<9}", self.name)), Span::styled(about, theme.dim())]
    }

    fn keys(_: Option<&Self>) -> String {
        "Enter to use · Esc to close · Alt-, and Alt-. lower and raise it".to_owned()
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        let level = chosen.filter(|_| key.code == KeyCode::Enter)?.name.to_owned();
        Some(PopupAction::CloseAndSend(Op::Idle(Idle::SetEffort { level })))
    }
}
