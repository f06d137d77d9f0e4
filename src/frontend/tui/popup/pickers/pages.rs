//! Lists whose rows open as a second page: the background jobs with their output (`/jobs`), the project's notes with their
//! text (`/notes`).

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::{markdown, wrap};
use crate::tui::terminal::key_table::ListMove;
use base::protocol::event::JobRow;
use base::protocol::lists::NoteRow;
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
        format!("Enter to see output · {} to stop · Esc to close", list::key_name(ListMove::Remove))
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        job_act(chosen?.id, key)
    }
}

fn job_act(id: u32, key: KeyEvent) -> Option<PopupAction> {
    if list::does(key, ListMove::Remove) {
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
            Some((id, _)) => return job_act(*id, key).unwrap_or(PopupAction::Nothing),
        }
        PopupAction::Nothing
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some((id, output)) = &self.output else { return self.list.lines(width, room, theme) };
        let remove = list::key_name(ListMove::Remove);
        let keys = format!("  Enter to refresh · {remove} to stop it · Esc to go back");
        let mut lines = vec![list::heading(&format!("Job {id}"), &keys, width, theme)];
        let shown = sanitize::clean(output);
        let shown = if shown.trim().is_empty() { "No output yet." } else { shown.trim_end() };
        let mut rows = wrap::wrap_text(shown, theme.plain(), "", "", width);
        let hidden = rows.len().saturating_sub(room.saturating_sub(1));
        rows.drain(..hidden);
        lines.extend(rows);
        lines
    }
}

impl PickRow for NoteRow {
    const TITLE: &'static str = "Notes";

    fn searched(&self) -> String {
        format!("{} {} {} {}", self.id, self.kind, self.title, self.text)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let facts = Span::styled(format!("{:<12} ", self.kind), theme.dim());
        list::columns(facts, &wrap::one_line(&self.title, 300), theme.plain(), width)
    }

    fn keys(_: Option<&Self>) -> String {
        let remove = list::key_name(ListMove::Remove);
        format!("Enter to read · Tab to edit · {remove} to archive · Esc to close")
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        let note = chosen?;
        if list::does(key, ListMove::Remove) {
            return Some(PopupAction::Send(Op::Quick(Quick::ForgetNote { id: note.id.clone() })));
        }
        (key.code == KeyCode::Tab).then(|| PopupAction::Edit(note.path.clone()).closing())
    }
}

#[derive(Clone, Debug)]
pub struct NotePicker {
    pub list: PickList<NoteRow>,
    page: Option<usize>,
}

impl NotePicker {
    pub fn new(rows: Vec<NoteRow>) -> Self {
        Self { list: PickList::new(rows), page: None }
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        match (&mut self.page, key.code) {
            (None, KeyCode::Enter) if self.list.chosen().is_some() => self.page = Some(0),
            (None, _) => return self.list.key(key),
            (Some(top), KeyCode::Down) => *top += 1,
            (Some(top), KeyCode::Up) => *top = top.saturating_sub(1),
            (Some(_), _) if list::closes(key) => self.page = None,
            (Some(_), _) => {
                let action = NoteRow::act(self.list.chosen(), "", key).unwrap_or(PopupAction::Nothing);
                self.page = self.page.filter(|_| action == PopupAction::Nothing);
                return action;
            }
        }
        PopupAction::Nothing
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let Some((top, note)) = self.page.zip(self.list.chosen()) else {
            return self.list.lines(width, room, theme);
        };
        let keys = "  ↑↓ to scroll · Tab to edit · Esc to go back";
        let mut lines = vec![list::heading(&wrap::one_line(&note.title, 100), keys, width, theme)];
        let text = markdown::render(&note.text, width, theme);
        let room = room.saturating_sub(1);
        let top = top.min(text.len().saturating_sub(room));
        lines.extend(text.into_iter().skip(top).take(room));
        lines
    }
}
