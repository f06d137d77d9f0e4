//! The chat line by line, for screen readers and terminals that cannot move their cursor: the same state, reducer and
//! operations as on the screen, but what is finished is printed as text, questions and lists have numbered lines, and
//! answers are lines. Nothing moves and nothing is colored.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::text::Line;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::time::Instant;

use super::app::App;
use super::msg::{Cmd, Msg};
use super::run::TuiOutcome;
use crate::tui::render::theme::Theme;
use crate::tui::transcript::entry::{TranscriptEntry, TranscriptKind};
use crate::tui::update::on_message::update;
use base::protocol::approval::QuestionId;
use base::protocol::event::Event;
use base::protocol::op::Op;
use base::sanitize;

/// Columns where the terminal does not say.
const WIDTH: u16 = 80;
/// Rows of a question: more than anybody has read out.
const ROWS: usize = 400;
/// Rows of a list; words narrow it down.
const LIST_ROWS: usize = 13;
/// How long the answer to a command is waited for before a list is read out, or a script's next line is taken.
const ANSWER: Duration = Duration::from_millis(300);
/// How long after a piece of it the next one is.
const NEXT_PIECE: Duration = Duration::from_millis(50);
/// What signs at the beginning of a line say in words.
const WORDS: [(&str, &str); 9] = [
    ("● ", ""),
    ("✓ ", ""),
    ("■ ", ""),
    ("└ ", ""),
    ("· ", ""),
    ("› ", "you: "),
    ("∴ ", "thinking: "),
    ("✗ ", "error: "),
    ("! ", "warning: "),
];

/// Runs the chat until it ends; why, and which session was open. `Op::Shutdown` has been sent when this returns.
pub async fn run(
    ops: UnboundedSender<Op>,
    events: UnboundedReceiver<Event>,
    initial_prompt: Option<String>,
) -> io::Result<(TuiOutcome, Option<String>)> {
    let width = crossterm::terminal::size().map_or(WIDTH, |(columns, _)| columns.max(20));
    let mut chat = PlainChat {
        app: App::new(Theme::new(false), (width, ROWS as u16)),
        ops,
        out: io::stdout(),
        start: Instant::now(),
        last: None,
        asked: None,
        prompted: false,
        at_terminal: io::stdin().is_terminal(),
        quiet_at: None,
    };
    if let Some(text) = initial_prompt.filter(|text| !text.trim().is_empty()) {
        chat.app.submit(text);
        let commands = chat.app.take_commands();
        chat.execute(commands)?;
    }
    let outcome = chat.run(events).await;
    let _ = chat.ops.send(Op::Shutdown);
    Ok((outcome?, chat.app.session.map(|session| session.id)))
}

struct PlainChat<W: Write> {
    app: App,
    ops: UnboundedSender<Op>,
    out: W,
    start: Instant,
    last: Option<TranscriptKind>,
    /// The question that was printed last.
    asked: Option<QuestionId>,
    /// The last thing printed is the prompt, without a line end.
    prompted: bool,
    at_terminal: bool,
    /// Until then the answer to a command may still come.
    quiet_at: Option<Instant>,
}

impl<W: Write> PlainChat<W> {
    async fn run(&mut self, mut events: UnboundedReceiver<Event>) -> io::Result<TuiOutcome> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut ended = false;
        loop {
            self.ask()?;
            let idle = self.app.session.is_some() && self.app.turn.is_none() && self.app.compacting.is_none();
            let waits = !self.app.questions.is_empty() || self.app.popup.is_some();
            let quiet = self.quiet_at.is_none();
            if ended && waits && quiet {
                if self.press(KeyCode::Esc)? {
                    return Ok(TuiOutcome::Quit);
                }
                continue;
            }
            if ended && idle && quiet {
                return Ok(TuiOutcome::Quit);
            }
            self.prompt(idle && !waits)?;
            let quit = tokio::select! {
                // Lines of a script wait for the end of the turn; those of a user steer it.
                line = lines.next_line(), if !ended && (self.at_terminal || quiet && (idle || waits)) => match line? {
                    Some(line) => self.line(&line)?,
                    None => { ended = true; false }
                },
                () = tokio::time::sleep_until(self.quiet_at.unwrap_or_else(Instant::now)), if !quiet => {
                    self.quiet_at = None;
                    false
                }
                _ = interrupt.recv() => self.control_c()?,
                _ = terminate.recv() => return Ok(TuiOutcome::Signal(Signal::TERM.as_raw())),
                _ = hangup.recv() => return Ok(TuiOutcome::Signal(Signal::HUP.as_raw())),
                event = events.recv() => match event {
                    Some(event) => self.event(event)?,
                    None => return Ok(TuiOutcome::AgentGone),
                },
            };
            if quit {
                return Ok(TuiOutcome::Quit);
            }
        }
    }

    fn event(&mut self, event: Event) -> io::Result<bool> {
        // What the screen shows only as long as it lasts.
        match &event {
            Event::ToolStarted { title, .. } => self.print(&format!("running: {title}"))?,
            Event::Retrying { attempt, of, wait_ms, reason } => {
                let seconds = wait_ms.div_ceil(1_000);
                self.print(&format!("attempt {attempt} of {of} in {seconds} s: {reason}"))?;
            }
            Event::Silent { since_ms, .. } => {
                self.print(&format!("no data from the server for {} s", since_ms / 1_000))?;
            }
            _ => {}
        }
        self.quiet_at = self.quiet_at.map(|_| Instant::now() + NEXT_PIECE);
        self.take_in(Msg::Event(event))
    }

    /// One line of the user's: for the open list or question, or a message.
    fn line(&mut self, line: &str) -> io::Result<bool> {
        self.prompted = false;
        self.quiet_at = Some(Instant::now() + ANSWER);
        if self.app.popup.is_some() {
            if !line.starts_with('/') {
                return self.choose(line.trim());
            }
            self.press(KeyCode::Esc)?;
            self.asked = None;
        }
        if !self.app.questions.is_empty() {
            return self.answer(line);
        }
        if line.trim().is_empty() {
            return Ok(false);
        }
        self.take_in(Msg::Paste(line.to_owned()))?;
        self.app.completion = None;
        self.press(KeyCode::Enter)
    }

    /// A number chooses a row, nothing closes the list, and everything else is typed into it.
    fn choose(&mut self, line: &str) -> io::Result<bool> {
        self.asked = None;
        match line.parse::<usize>() {
            Ok(number) => {
                self.press(KeyCode::Home)?;
                for _ in 1..number {
                    self.press(KeyCode::Down)?;
                }
                if self.press(KeyCode::Enter)? {
                    return Ok(true);
                }
            }
            Err(_) if line.is_empty() => return self.press(KeyCode::Esc),
            Err(_) => {
                for letter in line.chars() {
                    self.press(KeyCode::Char(letter))?;
                }
            }
        }
        Ok(false)
    }

    /// A number or a letter chooses; `n why` says no and why; what the model asked is answered in words too.
    fn answer(&mut self, line: &str) -> io::Result<bool> {
        self.asked = None;
        let line = line.trim();
        let why = line.strip_prefix("n ").filter(|_| self.has_choices());
        if why.is_some() {
            self.press(KeyCode::Tab)?;
        }
        for letter in why.unwrap_or(line).chars() {
            self.press(KeyCode::Char(letter))?;
        }
        // A number has answered already.
        if self.app.questions.is_empty() { Ok(false) } else { self.press(KeyCode::Enter) }
    }

    fn has_choices(&self) -> bool {
        self.app.questions.first().is_some_and(|question| !question.choices().is_empty())
    }

    fn control_c(&mut self) -> io::Result<bool> {
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        // Nothing runs and nothing is typed: there is no second one to wait for.
        Ok(self.take_in(Msg::Key(key))? || self.app.quit_armed)
    }

    fn press(&mut self, code: KeyCode) -> io::Result<bool> {
        self.take_in(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    /// Whether the chat is to end.
    fn take_in(&mut self, msg: Msg) -> io::Result<bool> {
        self.app.now = self.start.elapsed();
        let commands = update(&mut self.app, msg);
        self.execute(commands)
    }

    fn execute(&mut self, commands: Vec<Cmd>) -> io::Result<bool> {
        let mut quit = false;
        for command in commands {
            match command {
                Cmd::Send(op) => drop(self.ops.send(op)),
                Cmd::Print(entry) => self.entry(&entry)?,
                Cmd::Edit(file) => self.print(&format!("Edit {file} in another window, then answer."))?,
                Cmd::Quit => quit = true,
                Cmd::ClearScreen
                | Cmd::Suspend
                | Cmd::Compose(_)
                | Cmd::PastePicture
                | Cmd::CompleteShell(_) => {}
                Cmd::Copy(_) => {
                    self.print("Nothing is copied in plain mode. /export writes the session to a file.")?
                }
                Cmd::KeepTheme(_) => self.print("Plain mode has no colors.")?,
            }
        }
        Ok(quit)
    }

    fn entry(&mut self, entry: &TranscriptEntry) -> io::Result<()> {
        let lines = entry.lines(self.last, usize::from(self.app.size.0), self.app.theme);
        self.last = Some(entry.kind());
        lines.iter().try_for_each(|line| self.print(&in_words(line)))
    }

    fn print(&mut self, line: &str) -> io::Result<()> {
        if std::mem::take(&mut self.prompted) {
            writeln!(self.out)?;
        }
        writeln!(self.out, "{}", sanitize::clean(line))
    }

    /// Prints the open list or question, once.
    fn ask(&mut self) -> io::Result<()> {
        let (width, theme) = (usize::from(self.app.size.0), self.app.theme);
        if self.app.popup.is_some() && self.asked != Some(0) && self.quiet_at.is_none() {
            // From its first row on, so that the numbers hold.
            self.press(KeyCode::Home)?;
        }
        if let Some(popup) = &self.app.popup {
            if self.asked != Some(0) && self.quiet_at.is_none() {
                let lines: Vec<String> =
                    popup.lines(width, LIST_ROWS, theme).iter().map(ToString::to_string).collect();
                self.asked = Some(0);
                self.list(&lines)?;
            }
            return Ok(());
        }
        let Some(question) = self.app.questions.first_mut().filter(|first| self.asked != Some(first.id))
        else {
            return Ok(());
        };
        question.armed = true;
        question.unfold((self.app.size.0, self.app.size.1));
        let (id, choices) = (question.id, question.choices());
        let (mut lines, _) = question.lines(width, ROWS, theme);
        lines.truncate(lines.len() - choices.len().min(lines.len()));
        for line in &lines {
            self.print(line.to_string().trim_end())?;
        }
        for (at, choice) in choices.iter().enumerate() {
            let choice = choice.split(" (Esc)").next().unwrap_or_default();
            self.print(&format!("{}. {choice}", at + 1))?;
        }
        if !choices.is_empty() {
            self.print("A number answers; n and a reason says no, and tells the model why.")?;
        }
        self.asked = Some(id);
        Ok(())
    }

    /// Reads out a list: what stands above its rows, without the keys of the screen, then the rows with their numbers.
    fn list(&mut self, lines: &[String]) -> io::Result<()> {
        let rows = lines.iter().position(|line| line.starts_with('▸')).unwrap_or(lines.len());
        let mut number = 0;
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.contains(" close")) {
            let is_row = at >= rows && !line.trim_start().starts_with(['↑', '↓']);
            number += usize::from(is_row);
            let text = line.trim_start_matches('▸').trim();
            self.print(&if is_row { format!("{number}. {text}") } else { text.to_owned() })?;
        }
        self.print("A number chooses, words search, an empty line closes.")
    }

    fn prompt(&mut self, wanted: bool) -> io::Result<()> {
        if wanted && self.at_terminal && !self.prompted {
            write!(self.out, "> ")?;
            self.prompted = true;
        }
        self.out.flush()
    }
}

/// A line as text, with words for the sign that it begins with.
fn in_words(line: &Line<'_>) -> String {
    let text = line.to_string();
    let (indent, rest) = text.split_at(text.len() - text.trim_start().len());
    let said = WORDS.iter().find_map(|(sign, word)| Some(format!("{word}{}", rest.strip_prefix(sign)?)));
    format!("{indent}{}", said.unwrap_or_else(|| rest.to_owned())).trim_end().to_owned()
}
