//! Line-by-line chat for screen readers and terminals without cursor movement. Same state, reducer and operations as
//! the screen, but events are written the way `exec` writes them, lists are numbered, and answers are typed as lines.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use futures_util::StreamExt as _;
use ratatui::text::Line;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

use super::app::App;
use super::msg::{Cmd, Msg};
use super::run::TuiOutcome;
use crate::exec::human::Human;
use crate::exec::printer::{ModelAnswer, Printer as _};
use crate::tui::popup::open::Popup;
use crate::tui::render::theme::Theme;
use crate::tui::transcript::entry::{TranscriptEntry, TranscriptKind};
use crate::tui::update::on_message::update;
use crate::tui::update::on_popup::decline;
use base::process::signals;
use base::protocol::event::{Event, SessionInfo, TurnEnd};
use base::protocol::op::{Control, Op};
use base::system::os::Signal;
use base::text;

const WIDTH: u16 = 80;
const ROWS: u16 = u16::MAX;
const LIST_ROWS: usize = 13;
/// How much wider "12. " is than a row's mark.
const NUMBER: usize = 2;
const REASONING_CHARS: usize = 240;
/// How long to wait for a command's answer before printing a list or taking a script's next line.
const ANSWER: Duration = Duration::from_millis(300);
const NEXT_PIECE: Duration = Duration::from_millis(50);
const NO_COLORS: &str = "Plain mode has no colors.";

/// Returns why it ended, and the open session. `Control::Shutdown` has been sent by then.
pub async fn run(
    ops: UnboundedSender<Op>,
    events: UnboundedReceiver<Event>,
    initial_prompt: Option<String>,
) -> io::Result<(TuiOutcome, Option<SessionInfo>)> {
    let columns = crossterm::terminal::size().map_or(0, |(columns, _)| columns);
    let width = if columns == 0 { WIDTH } else { columns.max(20) };
    let mut chat = PlainChat {
        app: App::new(Theme::PLAIN, (width, ROWS)),
        ops,
        writer: Human::new(io::sink(), io::stdout(), false),
        start: Instant::now(),
        asked: None,
        prompted: false,
        rewound: false,
        replays: false,
        at_terminal: io::stdin().is_terminal(),
        quit: false,
        quiet_at: None,
    };
    let commands = chat.app.begin(initial_prompt);
    chat.execute(commands);
    let outcome = match chat.run(events).await {
        // The reader, such as a pager, has closed.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(TuiOutcome::Quit),
        outcome => outcome,
    };
    let _ = chat.ops.send(Control::Shutdown.into());
    Ok((outcome?, chat.app.session))
}

struct PlainChat {
    app: App,
    ops: UnboundedSender<Op>,
    writer: Human<io::Sink, io::Stdout>,
    start: Instant,
    asked: Option<u64>,
    prompted: bool,
    rewound: bool,
    /// A resumed session is being printed, without events for its calls.
    replays: bool,
    at_terminal: bool,
    quit: bool,
    /// Until then, the answer to a command may still arrive.
    quiet_at: Option<Instant>,
}

impl PlainChat {
    async fn run(&mut self, mut events: UnboundedReceiver<Event>) -> io::Result<TuiOutcome> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let mut interrupt = signals::any([Signal::INT]);
        let mut killed = signals::any([Signal::TERM, Signal::HUP]);
        let mut ended = false;
        while !self.quit {
            self.ask();
            let idle = self.app.session.is_some() && self.app.turn.is_none() && self.app.compacting.is_none();
            let waits = !self.app.questions.is_empty() || self.app.popup.is_some();
            let quiet = self.quiet_at.is_none();
            if ended && waits && quiet {
                if self.app.popup.is_some() {
                    self.press(KeyCode::Esc);
                } else {
                    decline(&mut self.app);
                    let commands = self.app.take_commands();
                    self.execute(commands);
                }
                continue;
            }
            if ended && idle && quiet {
                break;
            }
            self.prompt(idle && !waits && quiet)?;
            tokio::select! {
                // A script's lines wait for the end of the turn; a user's lines steer it.
                line = lines.next_line(), if !ended && (self.at_terminal || quiet && (idle || waits)) => match line? {
                    Some(line) => self.line(&line),
                    None => ended = true,
                },
                () = tokio::time::sleep_until(self.quiet_at.unwrap_or_else(Instant::now)), if !quiet => {
                    self.quiet_at = None;
                }
                // With nothing running or typed, one Ctrl-C is enough to quit.
                Some(()) = interrupt.next() => {
                    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
                    self.take_in(Msg::Key(key));
                    self.quit |= self.app.quit_armed.is_some();
                }
                _ = killed.next() => return Ok(TuiOutcome::Killed),
                event = events.recv() => match event {
                    Some(event) => self.event(event),
                    None => return Ok(TuiOutcome::AgentGone),
                },
            }
        }
        Ok(TuiOutcome::Quit)
    }

    fn event(&mut self, event: Event) {
        self.replays = matches!(event, Event::History(_));
        match &event {
            Event::Rewound(done) => self.rewound = done.part.conversation(),
            // The remaining history was already read out.
            Event::History(_) if std::mem::take(&mut self.rewound) => return,
            Event::ToolStarted { .. }
            | Event::ToolDone { .. }
            | Event::Retrying { .. }
            | Event::Silent { .. }
            | Event::Compacting { running: true } => self.write(&event),
            Event::Window(_) => drop(self.writer.event(&event)),
            _ => {}
        }
        self.quiet_at = self.quiet_at.map(|_| Instant::now() + NEXT_PIECE);
        self.take_in(Msg::Event(Box::new(event)));
    }

    fn line(&mut self, line: &str) {
        self.prompted = false;
        self.quiet_at = Some(Instant::now() + ANSWER);
        if self.app.popup.is_some() {
            if !line.starts_with('/') {
                return self.choose(line.trim());
            }
            self.press(KeyCode::Esc);
            self.asked = None;
        }
        if !self.app.questions.is_empty() {
            return self.answer(line);
        }
        if line.trim().is_empty() {
            return;
        }
        self.app.composer.restore(line);
        self.app.completion = None;
        self.press(KeyCode::Enter);
    }

    /// A number picks a row, an empty line closes the list, anything else is typed into it.
    fn choose(&mut self, line: &str) {
        self.asked = None;
        match line.parse::<usize>() {
            Ok(number) => {
                self.press(KeyCode::Home);
                for _ in 1..number {
                    self.press(KeyCode::Down);
                }
                self.press(KeyCode::Enter);
            }
            Err(_) if line.is_empty() => self.press(KeyCode::Esc),
            Err(_) => self.type_in(line),
        }
    }

    /// A number or letter picks a choice; `n why` declines with a reason; model questions take free text.
    fn answer(&mut self, line: &str) {
        self.asked = None;
        let line = line.trim();
        if let Some(question) =
            self.app.questions.first_mut().filter(|it| line == "v" && it.approval().is_some())
        {
            question.unfold();
            return;
        }
        let why = line
            .strip_prefix("n ")
            .filter(|_| self.app.questions.first().is_some_and(|question| question.approval().is_some()));
        if why.is_some() {
            self.press(KeyCode::Tab);
        }
        self.type_in(why.unwrap_or(line));
        // A number has already answered.
        if !self.app.questions.is_empty() {
            self.press(KeyCode::Enter);
        }
    }

    fn press(&mut self, code: KeyCode) {
        self.take_in(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    fn type_in(&mut self, text: &str) {
        for letter in text.chars() {
            self.press(KeyCode::Char(letter));
        }
    }

    fn take_in(&mut self, msg: Msg) {
        self.app.now = self.start.elapsed();
        let commands = update(&mut self.app, msg);
        let text = match &mut self.app.popup {
            // Keys typed here would be visible.
            Some(Popup::Keys(_)) => Some("`mycode login` in your shell saves an API key.".to_owned()),
            Some(Popup::Theme(_)) => Some(NO_COLORS.to_owned()),
            Some(Popup::Pager(pager)) => pager.text(),
            _ => None,
        };
        if let Some(text) = text {
            self.app.popup = None;
            self.print(&text);
        }
        self.execute(commands);
    }

    fn execute(&mut self, commands: Vec<Cmd>) {
        for command in commands {
            match command {
                Cmd::Send(op) => drop(self.ops.send(op)),
                Cmd::Print(entry) => self.entry(entry),
                Cmd::Edit(file) => self.print(&format!("Edit {file} in another window, then answer.")),
                Cmd::Quit => self.quit = true,
                Cmd::Copy(_) => self.print("Plain mode can't copy. /export writes the session to a file."),
                Cmd::KeepTheme(_) => self.print(NO_COLORS),
                Cmd::ClearScreen { .. }
                | Cmd::Withdraw(_)
                | Cmd::Suspend
                | Cmd::Compose(_)
                | Cmd::PastePicture
                | Cmd::CompleteShell(_) => {}
            }
        }
    }

    fn entry(&mut self, entry: TranscriptEntry) {
        match entry {
            // The terminal shows what was typed.
            TranscriptEntry::User(_) if self.at_terminal && !self.replays => {}
            TranscriptEntry::User(text) => self.print(&format!("you: {text}")),
            TranscriptEntry::Reasoning(text) => {
                self.print(&format!("thinking: {}", text::one_line(&text, REASONING_CHARS)));
            }
            TranscriptEntry::Notice { level, text } => self.write(&Event::Notice { level, text }),
            TranscriptEntry::TurnEnd(end) => {
                self.leave_prompt();
                let _ = self.writer.end(&TurnEnd { denied: 0, ..end }, &ModelAnswer::default(), 0);
            }
            TranscriptEntry::Tool(view) if self.replays => {
                let summary = view.outcome.map(|outcome| outcome.summary).unwrap_or_default();
                self.print(&format!("> {}\n  {summary}", view.title));
            }
            TranscriptEntry::Tool(_) => {}
            entry => {
                let lines =
                    entry.lines(Some(TranscriptKind::Other), usize::from(self.app.size.0), self.app.theme);
                lines.iter().for_each(|line| self.print(line.to_string().trim_end()));
            }
        }
    }

    fn write(&mut self, event: &Event) {
        self.leave_prompt();
        let _ = self.writer.event(event);
    }

    fn print(&mut self, line: &str) {
        self.leave_prompt();
        self.writer.line(None, line);
    }

    fn leave_prompt(&mut self) {
        if std::mem::take(&mut self.prompted) {
            self.writer.line(None, "");
        }
    }

    fn ask(&mut self) {
        let (width, theme) = (usize::from(self.app.size.0), self.app.theme);
        if self.app.popup.is_some() {
            if self.asked == Some(0) || self.quiet_at.is_some() {
                return;
            }
            // Start at the first row, so that the numbers match.
            self.press(KeyCode::Home);
            self.asked = Some(0);
            let lines = self
                .app
                .popup
                .as_ref()
                .map(|popup| popup.lines(width.saturating_sub(NUMBER), LIST_ROWS, theme));
            return self.list(&lines.unwrap_or_default());
        }
        let Some(question) = self.app.questions.first_mut().filter(|first| self.asked != Some(first.id))
        else {
            return;
        };
        question.armed = true;
        question.unmark();
        let id = question.id;
        let (mut lines, _) = question.lines(width, usize::from(ROWS), theme);
        let foot = question.approval().map_or(0, |form| form.foot_rows(width));
        lines.truncate(lines.len().saturating_sub(foot));
        let choices = question.approval().map(|form| form.choice_texts()).unwrap_or_default();
        for line in &lines {
            self.print(line.to_string().trim_end());
        }
        for (at, choice) in choices.iter().enumerate() {
            self.print(&format!("{}. {choice}", at + 1));
        }
        self.print(match choices.is_empty() {
            true => "Type a number, or an answer.",
            false => "Type a number, or n and a reason to decline.",
        });
        self.asked = Some(id);
    }

    fn list(&mut self, lines: &[Line<'_>]) {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let rows = lines.iter().position(|line| line.starts_with('▸')).unwrap_or(lines.len());
        let mut number = 0;
        for (at, line) in lines.iter().enumerate() {
            let is_row = at >= rows && !line.trim_start().starts_with(['↑', '↓']);
            number += usize::from(is_row);
            let text = line.trim_start_matches('▸').trim();
            self.print(&if is_row { format!("{number}. {text}") } else { text.to_owned() });
        }
        self.print("Type a number, words to search, or nothing to close.")
    }

    fn prompt(&mut self, wanted: bool) -> io::Result<()> {
        if wanted && self.at_terminal && !self.prompted {
            write!(io::stdout(), "> ")?;
            self.prompted = true;
        }
        io::stdout().flush()
    }
}
