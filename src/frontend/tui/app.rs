//! The state of the screen. Holds no channel, no clock and no terminal: `update` changes it, `view` draws it.

use std::sync::Arc;
use std::time::Duration;

use super::msg::Cmd;
use crate::tui::composer::editor::Composer;
use crate::tui::popup::completion::state::{Completion, Files};
use crate::tui::popup::history::HistorySearch;
use crate::tui::popup::open::Popup;
use crate::tui::popup::pickers::todos::Todo;
use crate::tui::popup::question::OpenQuestion;
use crate::tui::render::theme::{Look, Theme};
use crate::tui::transcript::entry::{TranscriptEntry, TranscriptKind};
use crate::tui::transcript::live::Live;
use base::config::mode::Mode;
use base::protocol::event::{CommandRow, JobRow, Level, SessionInfo, WindowState};
use base::protocol::op::Op;

/// A running turn.
#[derive(Clone, Debug, Default)]
pub struct TurnStatus {
    /// [`App::now`] when it began.
    pub started: Duration,
    pub interrupting: bool,
    /// Of the session before it.
    pub tokens_before: u64,
    /// Bytes of the answer since the last figures came.
    pub streamed: usize,
    /// The call that the model is writing, and how many bytes of it have arrived.
    pub arriving: Option<(String, usize)>,
    pub retry: Option<RetryStatus>,
    pub silent: Option<Silent>,
}

/// A request that is about to be sent again.
#[derive(Clone, Debug)]
pub struct RetryStatus {
    pub attempt: u32,
    pub of: u32,
    /// [`App::now`] when it is sent.
    pub at: Duration,
    pub reason: String,
}

/// A server that has sent nothing for some time.
#[derive(Clone, Copy, Debug)]
pub struct Silent {
    /// [`App::now`] when the last piece came.
    pub since: Duration,
    /// [`App::now`] when it is given up.
    pub until: Duration,
}

/// Everything that the screen shows.
#[derive(Clone, Debug, Default)]
pub struct App {
    pub theme: Theme,
    /// What the theme is made of.
    pub look: Look,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Time since the start, set by the loop before each update.
    pub now: Duration,
    /// Whether the terminal has the focus; `None` where it has not said so.
    pub focused: Option<bool>,
    /// [`App::now`] at the last key.
    pub typed_at: Duration,
    /// Counts spinner beats.
    pub beat: usize,
    pub session: Option<SessionInfo>,
    pub window: Option<WindowState>,
    pub composer: Composer,
    pub completion: Option<Completion>,
    /// The token whose popup was closed with Esc, by its start.
    pub dismissed: Option<usize>,
    /// The search through earlier prompts, while it is open.
    pub search: Option<HistorySearch>,
    pub questions: Vec<OpenQuestion>,
    pub popup: Option<Popup>,
    pub files: Files,
    /// The user's own slash commands.
    pub own_commands: Arc<[CommandRow]>,
    pub live: Live,
    pub turn: Option<TurnStatus>,
    /// Background jobs, oldest first.
    pub jobs: Vec<JobRow>,
    /// The model's todo list, as it wrote it last.
    pub todos: Vec<Todo>,
    /// The todo panel is folded to one line.
    pub todos_folded: bool,
    /// Calls that wait for those before them, by id and title.
    pub waiting: Vec<(Arc<str>, String)>,
    /// Layers that the sandbox lacks.
    pub sandbox_lacks: Option<String>,
    /// Since when a compaction runs.
    pub compacting: Option<Duration>,
    /// Sent while a turn runs, not yet taken up.
    pub queued: Vec<String>,
    /// What to print instead of the built-in prompt of a turn that a command started.
    pub turn_label: Option<&'static str>,
    /// Modes that were asked for and not confirmed yet: what an earlier confirmation says is out of date.
    pub modes_sent: u32,
    /// Ctrl-C was pressed on an empty composer; the next one quits.
    pub quit_armed: bool,
    /// Esc was pressed where nothing runs; the next one clears the composer, or goes back.
    pub escape_armed: bool,
    /// A short word in the status line until the next key.
    pub hint: Option<String>,
    /// The kind of the last printed piece.
    pub last_printed: Option<TranscriptKind>,
    /// The last answer of the model.
    pub last_answer: Option<Arc<str>>,
    outbox: Vec<Cmd>,
}

impl App {
    pub fn new(theme: Theme, size: (u16, u16)) -> Self {
        Self { theme, size, ..Self::default() }
    }

    /// Draws in other colors from here on.
    pub fn set_look(&mut self, look: Look) {
        (self.look, self.theme) = (look, look.theme());
    }

    /// Width of the composer's text; one cell stays free for the caret behind a full row.
    pub fn composer_width(&self) -> usize {
        usize::from(self.size.0).saturating_sub(3).max(1)
    }

    /// Whether the spinner must move. A turn that waits for the user stands still, until a letter that may be an answer
    /// has stayed alone long enough.
    pub fn needs_tick(&self) -> bool {
        self.questions.first().is_some_and(OpenQuestion::waits)
            || (self.turn.is_some() && self.questions.is_empty())
            || self.compacting.is_some()
    }

    pub fn send(&mut self, op: Op) {
        self.outbox.push(Cmd::Send(op));
    }

    pub fn command(&mut self, cmd: Cmd) {
        self.outbox.push(cmd);
    }

    /// The mode from here on. Shown at once: keys come faster than the agent answers.
    pub fn set_mode(&mut self, mode: Mode) {
        if let Some(session) = &mut self.session {
            session.mode = mode;
        }
        self.modes_sent += 1;
        self.send(Op::SetMode { mode });
    }

    /// A finished piece goes to the scrollback.
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

    /// What is finished in the live part goes to the scrollback.
    pub fn print_finished(&mut self) {
        for entry in self.live.take_finished() {
            self.print(entry);
        }
    }

    /// Sends a message; the turn counts as running from here on, so that the next Enter steers.
    pub fn submit(&mut self, text: String) {
        if self.turn.is_some() {
            self.queued.push(text.clone());
        } else {
            self.begin_turn();
        }
        self.send(match text.strip_prefix('!').map(str::trim).filter(|command| !command.is_empty()) {
            Some(command) => Op::RunCommand { command: command.to_owned() },
            None => Op::Submit { text },
        });
    }

    /// The open popup, unless it is the context while the user answers a question.
    pub fn shown_popup(&self) -> Option<&Popup> {
        let answering = self.questions.first().is_some_and(|question| question.armed);
        self.popup.as_ref().filter(|popup| !(answering && matches!(popup, Popup::Context(_))))
    }

    /// The model's todo list, here and where it is shown in full.
    pub fn set_todos(&mut self, todos: Vec<Todo>) {
        if let Some(Popup::Todos(list)) = &mut self.popup {
            list.fill(todos.clone());
        }
        self.todos = todos;
    }

    /// So many bytes of the answer came in; `None`: figures came, which have them all.
    pub fn streams(&mut self, bytes: Option<usize>) {
        if let Some(turn) = &mut self.turn {
            turn.streamed = bytes.map_or(0, |bytes| turn.streamed + bytes);
        }
    }

    pub fn begin_turn(&mut self) {
        let tokens_before = self.window.map_or(0, |window| window.total.total());
        self.turn = Some(TurnStatus { started: self.now, tokens_before, ..TurnStatus::default() });
    }

    /// The commands that have collected.
    pub fn take_commands(&mut self) -> Vec<Cmd> {
        std::mem::take(&mut self.outbox)
    }
}
