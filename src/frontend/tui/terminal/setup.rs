//! Takes over and restores the terminal: raw mode, bracketed paste, key protocol, panic hook. Output is
//! buffered, so that a frame arrives in one piece.

use std::collections::VecDeque;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use super::connection::{Connection, Speed};
use super::{attention, background};
use crate::tui::render::theme::Background;
use base::process::signals;
use base::system::os::{self, Signal};
use crossterm::terminal;
use futures_util::Stream;
use parking_lot::Mutex;
use ratatui::text::Line;
use tokio::sync::Notify;

/// The answers end with the cursor report, which all terminals send.
const ANSWER_TIME: Duration = Duration::from_millis(40);
const FAR_ANSWER_TIME: Duration = Duration::from_millis(300);
/// All terminals answer this too. The delay from padding before the next answer shows the connection's speed.
const STATUS_QUESTION: &str = "\x1b[5n";
const STATUS: &[u8] = b"\x1b[0n";
const PADDING: &str = "\x1b[0m";
const PADDING_COUNT: usize = 80;
const PADDING_TIME: Duration = Duration::from_millis(250);

const ENTER: &str = "\x1b[?2004h\x1b[?1004h";
const MOUSE_ON: &str = "\x1b[?1002h\x1b[?1006h";
/// All of it off, line wrap on, synchronized update off, colors off, cursor on.
const LEAVE: &str = "\x1b[?2004l\x1b[?1004l\x1b[?1002l\x1b[?1006l\x1b[?7h\x1b[?2026l\x1b[0m\x1b[?25h";
/// Kitty's key protocol: only "disambiguate escape codes", for Shift+Enter.
const KEYS_ON: &str = "\x1b[>1u";
const KEYS_OFF: &str = "\x1b[<1u";

static TAKEN: AtomicBool = AtomicBool::new(false);
/// Tells the loop that a panic restored the terminal.
static GIVEN_BACK: Notify = Notify::const_new();
static ALTERNATE: AtomicBool = AtomicBool::new(false);
static KEYS: AtomicBool = AtomicBool::new(false);
static MOUSE: AtomicBool = AtomicBool::new(false);

pub fn usable() -> Result<(), &'static str> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err("the chat needs a terminal for input and output");
    }
    if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        return Err("the terminal can't move its cursor (TERM is 'dumb')");
    }
    Ok(())
}

pub fn killed() -> impl Stream<Item = ()> + Unpin {
    signals::any([Signal::TERM, Signal::HUP, Signal::QUIT, Signal::INT])
}

/// Most terminals rewrap long lines when they become narrower.
pub fn breaks_lines_anew() -> bool {
    let term = std::env::var("TERM").unwrap_or_default();
    let tmux = std::env::var_os("TMUX").is_some();
    tmux || !(std::env::var_os("XTERM_VERSION").is_some() || term == "linux" || term.starts_with("screen"))
}

/// True everywhere but in GNU screen.
pub fn clears_scrollback() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some();
    !is_set("STY") || is_set("TMUX")
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct TerminalReply {
    pub keys: bool,
    pub background: Option<Background>,
    pub asked: bool,
    pub speed: Speed,
    pub typed: String,
}

/// Must run before keys are read by anything else.
pub fn enter(mouse: bool) -> io::Result<TerminalReply> {
    MOUSE.store(mouse, Ordering::SeqCst);
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    restore_on_panic();
    let asks = background::may_ask(|name| std::env::var(name).ok());
    let question = if asks { background::QUESTION } else { "" };
    let (padding, title) = (PADDING.repeat(PADDING_COUNT), title(attention::KEEP_TITLE));
    write_now(&format!("{ENTER}{}{title}{STATUS_QUESTION}{question}{padding}\x1b[?u\x1b[6n", mouse_on()))?;
    let (answer, speed) = read_answer();
    let mut greeting = TerminalReply { speed, ..parse_greeting(&answer) };
    greeting.asked = asks && greeting.background.is_none();
    if greeting.keys {
        KEYS.store(true, Ordering::SeqCst);
        write_now(KEYS_ON)?;
    }
    Ok(greeting)
}

pub fn enter_again() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    let keys = if KEYS.load(Ordering::SeqCst) { KEYS_ON } else { "" };
    write_now(&format!("{ENTER}{}{}{keys}", mouse_on(), title(attention::KEEP_TITLE)))
}

/// crossterm reads a part and waits for more; with the terminal's queue full none comes, and a large paste would hang.
pub fn rearm_waiting_input() {
    if os::input_comes(Duration::ZERO) {
        os::report_input_again();
    }
}

pub fn leave() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let keys = if KEYS.load(Ordering::SeqCst) { KEYS_OFF } else { "" };
        let screen = if ALTERNATE.swap(false, Ordering::SeqCst) { "\x1b[?1049l" } else { "" };
        // Errors on a closed terminal can't be handled.
        let _ = write_now(&format!("{screen}{keys}{}{LEAVE}", title(attention::RESTORE_TITLE)));
        let _ = terminal::disable_raw_mode();
    }
}

fn mouse_on() -> &'static str {
    if MOUSE.load(Ordering::SeqCst) { MOUSE_ON } else { "" }
}

fn title(sequence: &'static str) -> &'static str {
    if attention::has_titles(|name| std::env::var(name).ok()) { sequence } else { "" }
}

/// So that a panic can leave the alternate screen.
pub fn set_alternate(on: bool) {
    ALTERNATE.store(on, Ordering::SeqCst);
}

/// Resolves when a panic restored the terminal; if the program continues, the loop retakes it.
pub async fn given_back() {
    GIVEN_BACK.notified().await;
}

fn restore_on_panic() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            leave();
            before(info);
            GIVEN_BACK.notify_one();
        }));
    });
}

fn write_now(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Unbuffered, because a buffered reader could keep typed keys from the event stream.
fn read_answer() -> (Vec<u8>, Speed) {
    let far = std::env::var_os("SSH_CONNECTION").is_some();
    let mut deadline = Instant::now() + if far { FAR_ANSWER_TIME } else { ANSWER_TIME };
    let mut first: Option<Instant> = None;
    let mut answer = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut chunk = [0; 1024];
        let count = if os::input_comes(left) { os::read_input(&mut chunk) } else { 0 };
        if left.is_zero() || count == 0 {
            return (answer, Speed::Unknown);
        }
        answer.extend_from_slice(&chunk[..count]);
        let now = Instant::now();
        if find_report(&answer).is_some() {
            let took = first.map_or(Duration::ZERO, |first| now - first);
            return (answer, speed(took));
        }
        if first.is_none() && answer.windows(STATUS.len()).any(|bytes| bytes == STATUS) {
            first = Some(now);
            deadline = now + PADDING_TIME;
        }
    }
}

fn speed(took: Duration) -> Speed {
    if took <= ANSWER_TIME {
        return Speed::Fast;
    }
    Speed::Slow(PADDING.len() * PADDING_COUNT * 1_000 / took.as_millis() as usize)
}

fn find_report(bytes: &[u8]) -> Option<(usize, usize)> {
    let starts = bytes.windows(2).enumerate().filter(|(_, pair)| pair == b"\x1b[").map(|(index, _)| index);
    for start in starts {
        let rest = &bytes[start + 2..];
        let Some(length) = rest.iter().position(|b| !b.is_ascii_digit() && *b != b';') else { continue };
        let parameters = std::str::from_utf8(&rest[..length]).unwrap_or_default();
        if rest[length] == b'R' && parameters.contains(';') {
            return Some((start, start + 3 + length));
        }
    }
    None
}

fn parse_greeting(bytes: &[u8]) -> TerminalReply {
    let mut typed = bytes.to_vec();
    let report = find_report(bytes);
    if let Some((start, end)) = report {
        typed.drain(start..end);
    }
    let text = String::from_utf8_lossy(&typed).replace("\x1b[0n", "");
    let is_report = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('u');
    let keys = text.split("\x1b[?").skip(1).any(is_report);
    let typed = text.replace('\r', "\n");
    let typed = base::sanitize::clean(&typed).into_owned();
    TerminalReply { keys, background: background::parse(&text), typed, ..TerminalReply::default() }
}

#[derive(Clone, Debug)]
pub struct Output(Arc<Mutex<(Vec<u8>, Connection)>>);

impl Output {
    pub fn new(speed: Speed) -> Self {
        Self(Arc::new(Mutex::new((Vec::new(), speed.connection()))))
    }

    pub fn is_slow(&self) -> bool {
        self.0.lock().1.is_slow()
    }

    pub fn part(&self, waiting: &mut VecDeque<Line<'static>>) -> Vec<Line<'static>> {
        self.0.lock().1.part(waiting)
    }

    pub fn send(&self) -> io::Result<Duration> {
        let (bytes, connection) = &mut *self.0.lock();
        let bytes = std::mem::take(bytes);
        let begun = Instant::now();
        if bytes.is_empty() {
            return Ok(connection.pause(0, Duration::ZERO, begun));
        }
        let mut out = io::stdout().lock();
        out.write_all(b"\x1b[?2026h")?;
        out.write_all(&bytes)?;
        out.write_all(b"\x1b[?2026l")?;
        out.flush()?;
        let now = Instant::now();
        Ok(connection.pause(bytes.len(), now - begun, now))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greeting_and_typed_keys() {
        let greeting = parse_greeting(b"\x1b[0nfi\x1b]11;rgb:0000/0000/0000\x1b\\\x1b[?0u\x1b[12;1Rx");
        let background = Some(Background::Dark);
        let typed = "fix".to_owned();
        assert_eq!(greeting, TerminalReply { keys: true, background, typed, ..Default::default() });
        assert_eq!(parse_greeting(b""), TerminalReply::default());
        assert_eq!(find_report(b"\x1b[3;4"), None);
        assert_eq!(speed(Duration::from_millis(100)), Speed::Slow(3_200));
    }
}
