//! A server's output, which ends with a reason where the protocol crate would skip a message that it can't
//! read and the call would wait in vain.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, ReadBuf};

pub const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// The parser reads up to 128.
const MAX_DEPTH: u32 = 127;
const MAX_MESSAGES: u32 = 10_000;
const WINDOW: Duration = Duration::from_secs(60);

pub struct BoundedOutput<R> {
    inner: R,
    fault: Arc<OnceLock<&'static str>>,
    line: usize,
    depth: u32,
    in_string: bool,
    escaped: bool,
    messages: u32,
    window: Instant,
}

impl<R> BoundedOutput<R> {
    pub fn new(inner: R, fault: Arc<OnceLock<&'static str>>) -> Self {
        Self {
            inner,
            fault,
            line: 0,
            depth: 0,
            in_string: false,
            escaped: false,
            messages: 0,
            window: Instant::now(),
        }
    }

    fn read(&mut self, bytes: &[u8]) -> Result<(), &'static str> {
        for byte in bytes {
            self.line += 1;
            match byte {
                b'\n' => {
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
                return Err("it sent a message of more than 32 MiB");
            }
            if self.depth > MAX_DEPTH {
                return Err("it sent a message that is nested more than 127 levels deep");
            }
            if self.messages > MAX_MESSAGES {
                return Err("it sent more than 10,000 messages within a minute");
            }
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
        if self.fault.get().is_none() {
            ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        }
        if let Err(why) = self.read(&buf.filled()[before..]) {
            let _ = self.fault.set(why);
            buf.set_filled(before);
        }
        Poll::Ready(Ok(()))
    }
}
