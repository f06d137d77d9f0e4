//! The background jobs (`/jobs`); the selected job's output is a second page.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::{Action, ListMove};
use crate::tui::terminal::keymap;
use base::protocol::event::JobRow;
use base::protocol::op::Op;
use base::sanitize;
use base::text;

impl PickRow for JobRow {
    fn searched(&self) -> String {
        format!("{} {}", self.id, self.command)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let state = self.ended.as_deref().unwrap_or("running");
        let facts =
            format!("{:<3} {:<14} ", self.id, wrap::clip(&text::one_line(&sanitize::clean(state), 100), 14));
        let style = if self.ended.is_none() { theme.accent() } else { theme.dim() };
        let command = text::one_line(&sanitize::clean(&self.command), 300);
        let room = width.saturating_sub(wrap::width(&facts));
        vec![Span::styled(facts, style), Span::raw(wrap::clip(&command, room))]
    }
}

#[derive(Clone, Debug)]
pub struct JobPicker {
    list: PickList<JobRow>,
    output: Option<(u32, String)>,
}

impl JobPicker {
    pub fn new(jobs: Vec<JobRow>) -> Self {
        Self { list: PickList::new(jobs), output: None }
    }

    pub fn fill(&mut self, jobs: Vec<JobRow>) {
        self.list.fill(jobs);
    }

    pub fn show(&mut self, id: u32, text: String) {
        self.output = Some((id, text));
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        let chosen = self.list.chosen().map(|job| job.id);
        match (&self.output, chosen) {
            (Some(_), _) if list::closes(key) => self.output = None,
            (None, _) if list::closes(key) => return PopupAction::Close,
            (Some((id, _)), _) if list::removes(key) => return PopupAction::Send(Op::StopJob { id: *id }),
            (Some((id, _)), _) if key.code == KeyCode::Enter => {
                return PopupAction::Send(Op::ShowJob { id: *id });
            }
            (Some(_), _) => {}
            (None, Some(id)) if key.code == KeyCode::Enter => return PopupAction::Send(Op::ShowJob { id }),
            (None, Some(id)) if list::removes(key) => return PopupAction::Send(Op::StopJob { id }),
            (None, _) => self.list.key(key),
        }
        PopupAction::Nothing
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let remove = keymap::name(Action::List(ListMove::Remove));
        let Some((id, output)) = &self.output else {
            let keys = format!("Enter output · {remove} stop · Esc close");
            return self.list.lines("Background jobs", &keys, width, room, theme);
        };
        let head = format!("Job {id}  Enter again · {remove} stop · Esc back");
        let mut lines = vec![Line::styled(wrap::clip(&head, width), theme.strong())];
        let shown = sanitize::clean(output);
        let shown = if shown.trim().is_empty() { "No output yet." } else { shown.trim_end() };
        let mut rows = wrap::wrap_text(shown, theme.plain(), "", "", width);
        let hidden = rows.len().saturating_sub(room.saturating_sub(1));
        rows.drain(..hidden);
        lines.extend(rows);
        lines
    }
}
