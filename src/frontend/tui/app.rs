//! The state of the screen: no channels, clock or terminal. `update` changes it, `view` draws it.

use std::sync::Arc;
use std::time::Duration;

use super::msg::Cmd;
use crate::tui::composer::editor::Composer;
use crate::tui::popup::completion::state::{Completion, Files};
use crate::tui::popup::open::Popup;
use crate::tui::popup::question::OpenQuestion;
use crate::tui::render::theme::{Look, Theme};
use crate::tui::transcript::entry::{TranscriptEntry, TranscriptKind};
use crate::tui::transcript::live::Live;
use base::config::mode::Mode;
use base::config::settings::Permission;
use base::model::observation::Todo;
use base::protocol::event::{CommandRow, JobRow, Level, SessionInfo, WindowState};
use base::protocol::goal::GoalState;
use base::protocol::notice;
use base::protocol::op::{Control, Op, Quick, Work};

#[derive(Clone, Debug, Default)]
pub struct TurnStatus {
    pub started: Duration,
    pub interrupting: bool,
    pub tokens_before: u64,
    /// Bytes of the answer since the last reported figures.
    pub streamed: usize,
    /// The call the model is writing, and how many bytes have arrived.
    pub arriving: Option<(String, usize)>,
    pub retry: Option<RetryStatus>,
    /// The user was told that the reply starts over.
    pub begun_again: bool,
    pub silent: Option<Silent>,
}

#[derive(Clone, Debug)]
pub struct RetryStatus {
    pub attempt: u32,
    pub of: u32,
    pub at: Duration,
    pub reason: String,
}

#[derive(Clone, Copy, Debug)]
pub struct Silent {
    pub since: Duration,
    pub until: Option<Duration>,
    pub alive: bool,
}

#[derive(Clone, Debug, Default)]
pub struct App {
    pub theme: Theme,
    pub look: Look,
    pub size: (u16, u16),
    /// The connection is slow, so little of the live part is shown.
    pub slow: bool,
    /// Lines still to be printed with the next frames.
    pub behind: usize,
    /// Since the start; set by the loop before each update.
    pub now: Duration,
    /// `None` if the terminal doesn't report focus.
    pub focused: Option<bool>,
    pub typed_at: Duration,
    pub beat: usize,
    pub session: Option<SessionInfo>,
    pub window: Option<WindowState>,
    pub composer: Composer,
    pub completion: Option<Completion>,
    pub dismissed: Option<usize>,
    pub questions: Vec<OpenQuestion>,
    pub popup: Option<Popup>,
    pub files: Files,
    pub own_commands: Arc<[CommandRow]>,
    pub live: Live,
    pub turn: Option<TurnStatus>,
    pub jobs: Vec<JobRow>,
    pub todos: Vec<Todo>,
    pub todos_folded: bool,
    pub waiting: Vec<(Arc<str>, String)>,
    pub sandbox_lacks: Option<String>,
    pub goal: Option<GoalState>,
    pub compacting: Option<Duration>,
    /// Sent during a turn and not picked up yet.
    pub queued: Vec<String>,
    pub later: Vec<String>,
    pub stashed: Option<String>,
    /// The message of a failed turn, in the composer and not edited yet.
    pub returned: Option<String>,
    /// Ctrl-X was pressed; Ctrl-E after it opens the editor.
    pub chord: bool,
    pub offers_rules: bool,
    pub picks_model: bool,
    /// Shown instead of the prompt when a command started the turn.
    pub turn_label: Option<&'static str>,
    /// Changes of mode and permission that aren't confirmed yet; earlier confirmations are outdated.
    pub modes_sent: u32,
    pub permissions_sent: u32,
    /// Announced when it is confirmed: the administrator may allow less.
    pub permission_asked: Option<Permission>,
    /// Until then, a second Ctrl-C on the empty composer quits.
    pub quit_armed: Option<Duration>,
    /// Until then, a second Esc clears the composer or opens the rewind list.
    pub escape_armed: Option<Duration>,
    pub hint: Option<String>,
    /// The row where the mouse button went down.
    pub pressed: Option<u16>,
    pub last_printed: Option<TranscriptKind>,
    pub last_answer: Option<Arc<str>>,
    outbox: Vec<Cmd>,
}

impl App {
    pub fn new(theme: Theme, size: (u16, u16)) -> Self {
        Self { theme, size, ..Self::default() }
    }

    pub fn set_look(&mut self, look: Look) {
        (self.look, self.theme) = (look, look.theme());
    }

    /// One cell stays free for the caret after a full row.
    pub fn composer_width(&self) -> usize {
        usize::from(self.size.0).saturating_sub(3).max(1)
    }

    /// While a question waits, the spinner only times a single letter that may be an answer.
    pub fn needs_tick(&self) -> bool {
        self.questions.first().is_some_and(OpenQuestion::waits)
            || (self.turn.is_some() && self.questions.is_empty())
            || self.compacting.is_some()
            || self.behind > 0
            || self.quit_armed.or(self.escape_armed).is_some()
    }

    pub fn send(&mut self, op: impl Into<Op>) {
        self.outbox.push(Cmd::Send(op.into()));
    }

    pub fn command(&mut self, cmd: Cmd) {
        self.outbox.push(cmd);
    }

    /// Shown at once, because keys come faster than the agent answers.
    pub fn set_mode(&mut self, mode: Mode) {
        if let Some(session) = &mut self.session {
            session.mode = mode;
        }
        self.modes_sent += 1;
        self.send(Quick::SetMode { mode });
    }

    pub fn set_permission(&mut self, permission: Permission) {
        if let Some(session) = &mut self.session {
            session.permission = permission;
        }
        self.permissions_sent += 1;
        self.send(Quick::SetPermission { permission });
    }

    pub fn tell_permission(&mut self, now: Permission) {
        if self.permission_asked.take() == Some(now) {
            self.inform(notice::permission_changed(now));
        }
    }

    /// ask → accept-edits → plan → auto; everything else goes to ask.
    pub fn next_mode(&mut self) {
        let Some(session) = &self.session else { return };
        let before = (session.mode, session.permission);
        let (mode, permission) = match before {
            (Mode::Auto, Permission::Ask) => (Mode::Auto, Permission::AcceptEdits),
            (Mode::Auto, Permission::AcceptEdits) => (Mode::Plan, Permission::Ask),
            (Mode::Plan, _) => (Mode::Auto, Permission::Auto),
            _ => (Mode::Auto, Permission::Ask),
        };
        if mode != before.0 {
            self.set_mode(mode);
        }
        if permission != before.1 {
            self.set_permission(permission);
        }
        let name = if mode == Mode::Plan { mode.into_str() } else { permission.into_str() };
        self.hint = Some(name.to_owned());
    }

    pub fn print(&mut self, entry: TranscriptEntry) {
        self.last_printed = Some(entry.kind());
        self.outbox.push(Cmd::Print(entry));
    }

    pub fn notice(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        match &mut self.popup {
            Some(Popup::Context(popup)) => popup.say(&text),
            Some(Popup::Pager(pager)) => pager.say(&text),
            _ => {}
        }
        self.print(TranscriptEntry::Notice { level, text });
    }

    pub fn inform(&mut self, text: impl Into<String>) {
        self.notice(Level::Info, text);
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.notice(Level::Warning, text);
    }

    pub fn table(&mut self, heading: &str, rows: Vec<(String, String)>) {
        self.print(TranscriptEntry::Table { heading: heading.to_owned(), rows });
    }

    pub fn print_finished(&mut self) {
        let entries = self.live.take_finished();
        entries.into_iter().for_each(|entry| self.print(entry));
    }

    pub fn print_all(&mut self) {
        let entries = self.live.take_all();
        entries.into_iter().for_each(|entry| self.print(entry));
    }

    pub fn submit(&mut self, text: String) {
        if self.turn.is_some() {
            self.queued.push(text.clone());
        } else {
            self.begin_turn();
        }
        self.send(match text.strip_prefix('!').map(str::trim).filter(|command| !command.is_empty()) {
            Some(command) => Op::Work(Work::RunCommand { command: command.to_owned() }),
            None => Op::Work(Work::Submit { text }),
        });
    }

    pub fn begin(&mut self, prompt: Option<String>) -> Vec<Cmd> {
        prompt.filter(|text| !text.trim().is_empty()).into_iter().for_each(|text| self.submit(text));
        self.take_commands()
    }

    pub fn aside(&self) -> usize {
        self.later.len() + usize::from(self.stashed.is_some())
    }

    pub fn draft(&self) -> String {
        let waiting = self.later.iter().chain(&self.stashed);
        let all = waiting.cloned().chain(Some(self.composer.full_text()).filter(|text| !text.is_empty()));
        all.collect::<Vec<_>>().join("\n")
    }

    pub fn shown_popup(&self) -> Option<&Popup> {
        self.popup.as_ref().filter(|_| !self.answering())
    }

    pub fn shows_list(&self) -> bool {
        self.shown_popup().is_some_and(|popup| !matches!(popup, Popup::Pager(_)))
    }

    pub fn answering(&self) -> bool {
        self.questions.first().is_some_and(|question| question.armed)
    }

    pub fn arm_question(&mut self, armed: bool) {
        if let Some(question) = self.questions.first_mut() {
            question.arm(armed);
        }
    }

    pub fn interrupt(&mut self) {
        self.questions.clear();
        if let Some(turn) = &mut self.turn {
            turn.interrupting = true;
        }
        self.send(Control::Interrupt);
    }

    pub fn set_todos(&mut self, todos: Vec<Todo>) {
        if let Some(Popup::Todos(list)) = &mut self.popup {
            list.fill(todos.clone());
        }
        self.todos = todos;
    }

    /// `None` resets the count: the reported figures now include it.
    pub fn streams(&mut self, bytes: Option<usize>) {
        if let Some(turn) = &mut self.turn {
            turn.streamed = bytes.map_or(0, |bytes| turn.streamed + bytes);
        }
    }

    pub fn begin_turn(&mut self) {
        let tokens_before = self.window.map_or(0, |window| window.total.total());
        self.turn = Some(TurnStatus { started: self.now, tokens_before, ..TurnStatus::default() });
    }

    pub fn take_commands(&mut self) -> Vec<Cmd> {
        std::mem::take(&mut self.outbox)
    }
}
