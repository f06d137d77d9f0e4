//! Stored sessions (`/resume`), with a preview of the selected one. Deleting moves to the trash; while the
//! list is open, one key undoes it.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::text::{Line, Span};

use crate::tui::composer::buffer::Buffer;
use crate::tui::popup::list::{self, PickList, PickRow, PopupAction};
use crate::tui::render::theme::Theme;
use crate::tui::render::wrap;
use crate::tui::terminal::key_table::ListMove;
use base::protocol::event::SessionRow;
use base::protocol::lists::PreviewMessage;
use base::protocol::notice;
use base::protocol::op::{Idle, Op, Quick};
use base::{clock, sanitize, text};

const PREVIEW_FROM: usize = 14;
/// The width from which cost and branch are shown.
const WIDE: usize = 70;

#[derive(Clone, Debug, Default)]
pub struct SessionPicker {
    pub list: PickList<SessionRow>,
    preview: Option<(String, Option<Vec<PreviewMessage>>)>,
    title: Option<Buffer>,
    deleted: Vec<String>,
    all: bool,
}

impl PickRow for SessionRow {
    const TITLE: &'static str = "Resume a session";

    fn searched(&self) -> String {
        let branch = self.branch.as_deref().unwrap_or_default();
        format!("{} {} {} {branch} {}", self.title, self.id, self.workspace, self.about)
    }

    fn is_same(&self, other: &Self) -> bool {
        self.id == other.id
    }

    fn spans(&self, width: usize, theme: Theme) -> Vec<Span<'static>> {
        let age = age(clock::now_ms(), self.updated_ms);
        let mut facts = format!("{age:<8} {:<10} ", text::plural(self.turns, "turn"));
        if width >= WIDE && (self.cost_usd.is_some() || self.branch.is_some()) {
            let cost = self.cost_usd.map_or(String::new(), |cost| format!("${cost:.2}"));
            let branch = wrap::clip(&wrap::one_line(self.branch.as_deref().unwrap_or_default(), 40), 12);
            facts.push_str(&format!("{cost:<6} {branch:<12} "));
        }
        let folder = self.workspace.rsplit('/').next().filter(|_| self.elsewhere);
        let folder = folder.map_or_else(String::new, |name| format!("{name}  "));
        let mark = if self.headless { "exec: " } else { "" };
        let title = wrap::one_line(&format!("{folder}{mark}{}", self.title), 300);
        list::columns(Span::styled(facts, theme.dim()), &title, theme.plain(), width)
    }

    fn keys(_: Option<&Self>) -> String {
        let [fork, rename, remove] = [ListMove::Fork, ListMove::Rename, ListMove::Remove].map(list::key_name);
        format!("Enter · {fork} fork · {rename} rename · {remove} delete · Tab all")
    }

    fn act(chosen: Option<&Self>, _: &str, key: KeyEvent) -> Option<PopupAction> {
        let session = chosen?.id.clone();
        if let Some(row) = chosen.filter(|row| row.elsewhere && key.code == KeyCode::Enter) {
            return Some(PopupAction::Inform(notice::session_elsewhere(&row.id, &row.workspace)).closing());
        }
        if key.code == KeyCode::Enter {
            return Some(PopupAction::Send(Op::Idle(Idle::Resume { session })).closing());
        }
        if list::does(key, ListMove::Remove) {
            return Some(PopupAction::Send(Op::Quick(Quick::DeleteSession { session })));
        }
        list::does(key, ListMove::Fork)
            .then_some(PopupAction::Send(Op::Idle(Idle::ForkSession { session })).closing())
    }
}

impl SessionPicker {
    pub fn new(rows: Vec<SessionRow>) -> Self {
        Self { list: PickList::new(rows), ..Self::default() }
    }

    pub fn show(&mut self, session: &str, messages: Vec<PreviewMessage>) {
        if let Some((_, shown)) = self.preview.as_mut().filter(|(wanted, _)| wanted == session) {
            *shown = Some(messages);
        }
    }

    pub fn wanted(&mut self) -> Option<Op> {
        let session = self.list.chosen()?.id.clone();
        if self.preview.as_ref().is_some_and(|(shown, _)| *shown == session) {
            return None;
        }
        self.preview = Some((session.clone(), None));
        Some(Op::Quick(Quick::PreviewSession { session }))
    }

    pub fn key(&mut self, key: KeyEvent) -> PopupAction {
        let sent = |op: Option<Op>| op.map_or(PopupAction::Nothing, PopupAction::Send);
        if let Some(title) = &mut self.title {
            let mut renamed = None;
            match key.code {
                KeyCode::Esc => self.title = None,
                KeyCode::Enter => {
                    let (title, session) =
                        (title.text().trim().to_owned(), self.list.chosen().map(|row| row.id.clone()));
                    renamed = session.map(|session| Op::Quick(Quick::RenameSession { session, title }));
                    self.title = None;
                }
                _ => title.type_key(key),
            }
            return sent(renamed);
        }
        if list::does(key, ListMove::Undo) {
            return sent(self.deleted.pop().map(|session| Op::Quick(Quick::RestoreSession { session })));
        }
        if list::does(key, ListMove::Rename) && self.list.chosen().is_some() {
            self.title = Some(Buffer::default());
            return PopupAction::Nothing;
        }
        if key.code == KeyCode::Tab {
            self.all = !self.all;
            let listed = if self.all { Quick::ListAllSessions } else { Quick::ListSessions };
            return PopupAction::Send(Op::Quick(listed));
        }
        match self.list.key(key) {
            PopupAction::Nothing => sent(self.wanted()),
            action => {
                if let PopupAction::Send(Op::Quick(Quick::DeleteSession { session })) = &action {
                    self.deleted.push(session.clone());
                }
                action
            }
        }
    }

    pub fn paste(&mut self, text: &str) -> bool {
        match &mut self.title {
            Some(title) => title.paste_line(text),
            None => return self.list.paste(text),
        }
        true
    }

    pub fn lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut keys = SessionRow::keys(None);
        if !self.deleted.is_empty() {
            keys.push_str(&format!(" · {} undo", list::key_name(ListMove::Undo)));
        }
        keys.push_str(&format!(" · {} close", list::key_name(ListMove::Close)));
        let preview_room = if room >= PREVIEW_FROM { room / 2 } else { 0 };
        let mut lines = self.list.lines_with(&keys, width, room - preview_room, theme);
        if let Some(title) = &self.title {
            let text =
                format!("New title: {}▏  Enter to save · Esc to go back", sanitize::clean(title.text()));
            let at = lines.len().min(1);
            lines.splice(at..(at + 1).min(lines.len()), [wrap::line(&text, width, theme.warning())]);
        }
        if preview_room > 0 {
            lines.resize(room - preview_room, Line::default());
            lines.extend(self.preview_lines(width, preview_room, theme));
        }
        lines
    }

    fn preview_lines(&self, width: usize, room: usize, theme: Theme) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        let chosen = self.list.chosen().map(|row| &row.id);
        let preview = self.preview.as_ref().filter(|(session, _)| Some(session) == chosen);
        let messages = preview.and_then(|(_, messages)| messages.as_ref());
        for message in messages.into_iter().flatten() {
            let (mark, style) = if message.by_user { ("› ", theme.user()) } else { ("  ", theme.plain()) };
            lines.extend(wrap::wrap_text(&sanitize::clean(&message.text), style, mark, "  ", width));
        }
        lines.drain(..lines.len().saturating_sub(room.saturating_sub(1)));
        lines.insert(0, Line::styled("─".repeat(width), theme.dim()));
        lines
    }
}

pub fn age(now_ms: u64, then_ms: u64) -> String {
    let minutes = now_ms.saturating_sub(then_ms) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", minutes / 1_440),
    }
}
