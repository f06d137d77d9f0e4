//! The background jobs (`/jobs`); the selected job's output is a second page.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::ListMove;
use base::protocol::event::JobRow;
use base::protocol::op::{Op, Quick};
use base::sanitize;

impl PickRow for JobRow {
    const TITLE: &'static str = "Background jobs";

    fn searched(&self) -> String {
        format!("{} {}", self.id, self.command)
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let state = self.ended.as_deref().unwrap_or("running");
        let facts = format!("{:<3} {:<14} ", self.id, wrap::clip(&wrap::one_line(state, 100), 14));
        let style = if self.ended.is_none() { theme.accent() } else { theme.dim() };
        list::columns(Span::styled(facts, style), &wrap::one_line(&self.command, 300), theme.plain(), width)
    }

    fn keys(_: Option<&Self>) -> String {
        format!("Enter output · {} stop · Esc close", list::key_name(ListMove::Remove))
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        act(chosen?.id, key)
    }
}

fn act(id: u32, key: KeyEvent) -> Option<PopupAction> {
    if list::removes(key) {
        return Some(PopupAction::Send(Op::Quick(Quick::StopJob { id })));
    }
    (key.code == KeyCode::Enter).then_some(PopupAction::Send(Op::Quick(Quick::ShowJob { id })))
}

#[derive(Clone, Debug)]
pub struct JobPicker {
    pub list: PickList<JobRow>,
    pub output: Option<(u32, String)>,
}

impl JobPicker {
    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        match &self.output {
            None => return self.list.key(key),
            Some(_) if list::closes(key) => self.output = None,
            Some((id, _)) => return act(*id, key).unwrap_or(PopupAction::Nothing),
        }
        PopupAction::Nothing
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some((id, output)) = &self.output else { return self.list.lines(width, room, theme) };
        let remove = list::key_name(ListMove::Remove);
        let head = format!("Job {id}  Enter again · {remove} stop · Esc back");
        let mut lines = vec![wrap::line(&head, width, theme.strong())];
        let shown = sanitize::clean(output);
        let shown = if shown.trim().is_empty() { "No output yet." } else { shown.trim_end() };
        let mut rows = wrap::wrap_text(shown, theme.plain(), "", "", width);
        let hidden = rows.len().saturating_sub(room.saturating_sub(1));
        rows.drain(..hidden);
        lines.extend(rows);
        lines
    }
}
