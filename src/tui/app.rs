//! The state of the screen. Holds no channel, no clock and no terminal: `update` changes it, `view` draws it.

use std::sync::Arc;
use std::time::Duration;

use super::msg::Cmd;
use crate::config::mode::Mode;
use crate::model::item::ItemId;
use crate::protocol::event::{CommandRow, JobRow, Level, SessionInfo, WindowState};
use crate::protocol::ledger::ContextEdit;
use crate::protocol::op::Op;
use crate::tui::composer::editor::Composer;
use crate::tui::popup::completion::{Completion, Files};
use crate::tui::popup::history::HistorySearch;
use crate::tui::popup::open::Popup;
use crate::tui::popup::question::OpenQuestion;
use crate::tui::render::theme::Theme;
use crate::tui::transcript::entry::{TranscriptEntry, TranscriptKind};
use crate::tui::transcript::live::Live;

/// A running turn.
#[derive(Clone, Debug, Default)]
pub struct TurnStatus {
    /// [`App::now`] when it began.
    pub started: Duration,
    pub interrupting: bool,
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
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    /// Time since the start, set by the loop before each update.
    pub now: Duration,
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
    /// The last finished thinking, of which the transcript shows the first lines.
    pub last_reasoning: Option<Arc<str>>,
    outbox: Vec<Cmd>,
}

impl App {
    pub fn new(theme: Theme, size: (u16, u16)) -> Self {
        Self { theme, size, ..Self::default() }
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
        if let TranscriptEntry::Reasoning(text) = &entry {
            self.last_reasoning = Some(text.as_str().into());
        }
        self.outbox.push(Cmd::Print(entry));
    }

    pub fn notice(&mut self, level: Level, text: impl Into<String>) {
        let text = text.into();
        if let Some(Popup::Context(popup)) = &mut self.popup {
            popup.say(&text);
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

    /// Asks for an edit of the context, and says so where it must wait.
    pub fn edit_context(&mut self, edit: ContextEdit, id: ItemId) {
        self.send(Op::EditContext { edit, id });
        if self.turn.is_some() {
            self.notice(Level::Info, format!("{} {id} takes effect before the next request.", edit.as_str()));
        }
    }

    pub fn begin_turn(&mut self) {
        self.turn = Some(TurnStatus { started: self.now, ..TurnStatus::default() });
    }

    /// The commands that have collected.
    pub fn take_commands(&mut self) -> Vec<Cmd> {
        std::mem::take(&mut self.outbox)
    }
}
