//! Line-by-line chat for screen readers and terminals without cursor movement. Same state, reducer and
//! operations as the screen, but output is plain text, lists are numbered, and answers are typed as lines.

use std::io::{self, IsTerminal, Write};
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
use crate::tui::popup::approval::Approval;
use crate::tui::popup::open::Popup;
use crate::tui::render::theme::Theme;
use crate::tui::transcript::entry::{TranscriptEntry, TranscriptKind};
use crate::tui::update::on_message::update;
use crate::tui::update::on_popup::decline;
use base::process::signals;
use base::protocol::approval::QuestionId;
use base::protocol::event::{Event, silence};
use base::protocol::op::{Control, Op};
use base::sanitize;
use base::system::os::Signal;

const WIDTH: u16 = 80;
/// Effectively unlimited: all rows of a question or a page.
const ROWS: u16 = u16::MAX;
const LIST_ROWS: usize = 13;
/// How long to wait for a command's answer before printing a list or taking a script's next line.
const ANSWER: Duration = Duration::from_millis(300);
const NEXT_PIECE: Duration = Duration::from_millis(50);
const NO_COLORS: &str = "Plain mode has no colors.";
/// Leading signs of a line, in words.
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

/// Runs the chat until it ends; returns why, and the open session. `Control::Shutdown` has been sent by then.
pub async fn run(
    ops: UnboundedSender<Op>,
    events: UnboundedReceiver<Event>,
    initial_prompt: Option<String>,
) -> io::Result<(TuiOutcome, Option<String>)> {
    let columns = crossterm::terminal::size().map_or(0, |(columns, _)| columns);
    let width = if columns == 0 { WIDTH } else { columns.max(20) };
    let mut chat = PlainChat {
        app: App::new(Theme::PLAIN, (width, ROWS)),
        ops,
        out: io::stdout(),
        start: Instant::now(),
        last: None,
        asked: None,
        typed: String::new(),
        prompted: false,
        rewound: false,
        at_terminal: io::stdin().is_terminal(),
        quiet_at: None,
    };
    let commands = chat.app.begin(initial_prompt);
    chat.execute(commands)?;
    let outcome = chat.run(events).await;
    let _ = chat.ops.send(Control::Shutdown.into());
    Ok((outcome?, chat.app.session.map(|session| session.id)))
}

struct PlainChat {
    app: App,
    ops: UnboundedSender<Op>,
    out: io::Stdout,
    start: Instant,
    last: Option<TranscriptKind>,
    asked: Option<QuestionId>,
    /// What the user typed last; the terminal shows it already.
    typed: String,
    prompted: bool,
    rewound: bool,
    at_terminal: bool,
    /// Until then, the answer to a command may still arrive.
    quiet_at: Option<Instant>,
}

impl PlainChat {
    async fn run(&mut self, mut events: UnboundedReceiver<Event>) -> io::Result<TuiOutcome> {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let mut interrupt = signals::any([Signal::INT]);
        let mut killed = signals::any([Signal::TERM, Signal::HUP]);
        let mut ended = false;
        loop {
            self.ask()?;
            let idle = self.app.session.is_some() && self.app.turn.is_none() && self.app.compacting.is_none();
            let waits = !self.app.questions.is_empty() || self.app.popup.is_some();
            let quiet = self.quiet_at.is_none();
            if ended && waits && quiet {
                let quit = if self.app.popup.is_some() {
                    self.press(KeyCode::Esc)?
                } else {
                    decline(&mut self.app);
                    let commands = self.app.take_commands();
                    self.execute(commands)?
                };
                if quit {
                    return Ok(TuiOutcome::Quit);
                }
                continue;
            }
            if ended && idle && quiet {
                return Ok(TuiOutcome::Quit);
            }
            self.prompt(idle && !waits)?;
            let quit = tokio::select! {
                // A script's lines wait for the end of the turn; a user's lines steer it.
                line = lines.next_line(), if !ended && (self.at_terminal || quiet && (idle || waits)) => match line? {
                    Some(line) => self.line(&line)?,
                    None => { ended = true; false }
                },
                () = tokio::time::sleep_until(self.quiet_at.unwrap_or_else(Instant::now)), if !quiet => {
                    self.quiet_at = None;
                    false
                }
                // With nothing running or typed, one Ctrl-C is enough to quit.
                Some(()) = interrupt.next() => {
                    let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
                    self.take_in(Msg::Key(key))? || self.app.quit_armed
                }
                _ = killed.next() => return Ok(TuiOutcome::Killed),
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
        match &event {
            Event::Rewound(done) => self.rewound = done.part.conversation(),
            // What is left was read out before.
            Event::History(_) if std::mem::take(&mut self.rewound) => return Ok(false),
            _ => {}
        }
        match &event {
            Event::ToolStarted { title, .. } => self.print(&format!("running: {title}"))?,
            Event::Retrying { attempt, of, wait_ms, reason } => {
                let seconds = wait_ms.div_ceil(1_000);
                self.print(&format!("attempt {attempt} of {of} in {seconds} s: {reason}"))?;
            }
            Event::Silent { since_ms, alive, left_ms } => {
                let seconds = |ms: u64| format!("{} s", ms / 1_000);
                self.print(&silence(&seconds(*since_ms), left_ms.map(seconds), *alive))?;
            }
            _ => {}
        }
        self.quiet_at = self.quiet_at.map(|_| Instant::now() + NEXT_PIECE);
        self.take_in(Msg::Event(Box::new(event)))
    }

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
        self.typed = line.trim().to_owned();
        self.app.composer.restore(line);
        self.app.completion = None;
        self.press(KeyCode::Enter)
    }

    /// A number picks a row, an empty line closes the list, anything else is typed into it.
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
            Err(_) => self.type_in(line)?,
        }
        Ok(false)
    }

    /// A number or letter picks a choice; `n why` declines with a reason; model questions take free text.
    fn answer(&mut self, line: &str) -> io::Result<bool> {
        self.asked = None;
        let line = line.trim();
        if let Some(question) =
            self.app.questions.first_mut().filter(|it| line == "v" && it.approval().is_some())
        {
            question.unfold();
            return Ok(false);
        }
        let why = line
            .strip_prefix("n ")
            .filter(|_| self.app.questions.first().is_some_and(|question| question.approval().is_some()));
        if why.is_some() {
            self.press(KeyCode::Tab)?;
        }
        self.type_in(why.unwrap_or(line))?;
        // A number has already answered.
        if self.app.questions.is_empty() { Ok(false) } else { self.press(KeyCode::Enter) }
    }

    fn press(&mut self, code: KeyCode) -> io::Result<bool> {
        self.take_in(Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
    }

    fn type_in(&mut self, text: &str) -> io::Result<()> {
        text.chars().try_for_each(|letter| self.press(KeyCode::Char(letter)).map(drop))
    }

    fn take_in(&mut self, msg: Msg) -> io::Result<bool> {
        self.app.now = self.start.elapsed();
        let commands = update(&mut self.app, msg);
        let text = match &mut self.app.popup {
            // What is typed here can be seen.
            Some(Popup::Keys(_)) => Some("`mycode login` in your shell saves an API key.".to_owned()),
            Some(Popup::Theme(_)) => Some(NO_COLORS.to_owned()),
            Some(Popup::Pager(pager)) => pager.text(),
            _ => None,
        };
        if let Some(text) = text {
            self.app.popup = None;
            self.print(&text)?;
        }
        self.execute(commands)
    }

    fn execute(&mut self, commands: Vec<Cmd>) -> io::Result<bool> {
        let mut quit = false;
        for command in commands {
            match command {
                Cmd::Send(op) => drop(self.ops.send(op)),
                Cmd::Print(TranscriptEntry::User(text)) if self.at_terminal && *text == *self.typed => {
                    self.typed.clear();
                }
                Cmd::Print(entry) => self.entry(&entry)?,
                Cmd::Edit(file) => self.print(&format!("Edit {file} in another window, then answer."))?,
                Cmd::Quit => quit = true,
                Cmd::ClearScreen { .. }
                | Cmd::Suspend
                | Cmd::Compose(_)
                | Cmd::PastePicture
                | Cmd::CompleteShell(_) => {}
                Cmd::Copy(_) => self.print("Plain mode can't copy. /export writes the session to a file.")?,
                Cmd::KeepTheme(_) => self.print(NO_COLORS)?,
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

    fn ask(&mut self) -> io::Result<()> {
        let (width, theme) = (usize::from(self.app.size.0), self.app.theme);
        if self.app.popup.is_some() {
            if self.asked == Some(0) || self.quiet_at.is_some() {
                return Ok(());
            }
            // Start at the first row, so that the numbers match.
            self.press(KeyCode::Home)?;
            self.asked = Some(0);
            let lines = self.app.popup.as_ref().map(|popup| popup.lines(width, LIST_ROWS, theme));
            return self.list(&lines.unwrap_or_default());
        }
        let Some(question) = self.app.questions.first_mut().filter(|first| self.asked != Some(first.id))
        else {
            return Ok(());
        };
        question.armed = true;
        let id = question.id;
        let (mut lines, _) = question.lines(width, usize::from(ROWS), theme);
        let foot = question.approval().map_or(0, |form| form.foot_rows(width));
        lines.truncate(lines.len().saturating_sub(foot));
        let choices = question.approval().map(Approval::choice_texts).unwrap_or_default();
        for line in &lines {
            self.print(line.to_string().trim_end())?;
        }
        for (at, choice) in choices.iter().enumerate() {
            self.print(&format!("{}. {choice}", at + 1))?;
        }
        self.print(match choices.is_empty() {
            true => "Type a number, or an answer.",
            false => "Type a number, or n and a reason to decline.",
        })?;
        self.asked = Some(id);
        Ok(())
    }

    fn list(&mut self, lines: &[Line<'_>]) -> io::Result<()> {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let rows = lines.iter().position(|line| line.starts_with('▸')).unwrap_or(lines.len());
        let mut number = 0;
        for (at, line) in lines.iter().enumerate() {
            let is_row = at >= rows && !line.trim_start().starts_with(['↑', '↓']);
            number += usize::from(is_row);
            let text = line.trim_start_matches('▸').trim();
            self.print(&if is_row { format!("{number}. {text}") } else { text.to_owned() })?;
        }
        self.print("Type a number to choose, words to search, or an empty line to close.")
    }

    fn prompt(&mut self, wanted: bool) -> io::Result<()> {
        if wanted && self.at_terminal && !self.prompted {
            write!(self.out, "> ")?;
            self.prompted = true;
        }
        self.out.flush()
    }
}

fn in_words(line: &Line<'_>) -> String {
    let text = line.to_string();
    let (indent, rest) = text.split_at(text.len() - text.trim_start().len());
    let said = WORDS.iter().find_map(|(sign, word)| Some(format!("{word}{}", rest.strip_prefix(sign)?)));
    format!("{indent}{}", said.unwrap_or_else(|| rest.to_owned())).trim_end().to_owned()
}
