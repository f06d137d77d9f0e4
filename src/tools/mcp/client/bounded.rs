//! A server's output. Ends with a reason if the protocol crate would skip an unreadable message and leave its call
//! waiting forever. Other lines are skipped, because many servers print greetings or logs there.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, ReadBuf};

use base::text::one_line;

pub const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// The parser's own limit is 128.
const MAX_DEPTH: u32 = 127;
const MAX_MESSAGES: u32 = 10_000;
const WINDOW: Duration = Duration::from_secs(60);

const KEPT_BYTES: usize = 64 * 1024;
const SHOWN_CHARS: usize = 160;

#[derive(Default)]
pub struct OutputFaults {
    pub fault: OnceLock<String>,
    stray: OnceLock<String>,
}

impl OutputFaults {
    pub fn stray_line(&self) -> String {
        let told = |line| format!("; on standard output it also wrote, outside the protocol: {line}");
        self.stray.get().map_or_else(String::new, told)
    }
}

pub struct BoundedOutput<R> {
    inner: R,
    faults: Arc<OutputFaults>,
    begun: Vec<u8>,
    line: usize,
    depth: u32,
    in_string: bool,
    escaped: bool,
    messages: u32,
    window: Instant,
}

impl<R> BoundedOutput<R> {
    pub fn new(inner: R, faults: Arc<OutputFaults>) -> Self {
        Self {
            inner,
            faults,
            begun: Vec::new(),
            line: 0,
            depth: 0,
            in_string: false,
            escaped: false,
            messages: 0,
            window: Instant::now(),
        }
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), String> {
        for byte in bytes {
            self.line += 1;
            if *byte != b'\n' && self.line <= KEPT_BYTES {
                self.begun.push(*byte);
            }
            match byte {
                b'\n' => {
                    self.end_of_line()?;
                    (self.line, self.depth, self.in_string, self.escaped) = (0, 0, false, false);
                    if self.window.elapsed() > WINDOW {
                        (self.window, self.messages) = (Instant::now(), 0);
                    }
                    self.messages += 1;
                }
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.depth += 1,
                b'}' | b']' if !self.in_string => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.line > MAX_MESSAGE_BYTES {
                return Err("it sent a message of more than 32 MiB".to_owned());
            }
            if self.depth > MAX_DEPTH {
                return Err("it sent a message that is nested more than 127 levels deep".to_owned());
            }
            if self.messages > MAX_MESSAGES {
                return Err("it sent more than 10,000 messages within a minute".to_owned());
            }
        }
        Ok(())
    }

    fn end_of_line(&mut self) -> Result<(), String> {
        let begun = std::mem::take(&mut self.begun);
        let line = begun.trim_ascii();
        let is_whole = self.line <= KEPT_BYTES;
        let is_valid = match is_whole {
            true => serde_json::from_slice::<IgnoredAny>(line).is_ok(),
            false => self.depth == 0 && !self.in_string,
        };
        let text = String::from_utf8_lossy(line);
        let is_message = text.starts_with('{') && text.contains("\"jsonrpc\"");
        let shown = || one_line(&text, SHOWN_CHARS);
        if is_message && !is_valid {
            return Err(format!("it sent a message that is not valid JSON: {}", shown()));
        }
        if !is_message && is_whole && !line.is_empty() {
            self.faults.stray.get_or_init(shown);
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedOutput<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if self.faults.fault.get().is_none() {
            ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        }
        let new = &buf.filled()[before..];
        // At the end, an unfinished line counts as a line.
        let read = if new.is_empty() { self.end_of_line() } else { self.read(new) };
        if let Err(why) = read {
            let _ = self.faults.fault.set(why);
            buf.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}
