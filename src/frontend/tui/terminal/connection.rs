//! How much a frame may write. Nothing says what waits on the way to the screen (`TIOCOUTQ` is 0 for Linux's
//! pseudo-terminals, kernel 6.18), and what waits delays the echo of the next key. So a slow connection gets
//! printed lines in parts, each as large as what it transmits before the next.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use ratatui::text::Line;

/// Bytes per second of a connection that didn't answer, and the minimum for any.
const LEAST: usize = 1_500;
const FAST: usize = 10_000;
const FAST_PART: usize = 8_192;
/// More than the way to the screen can hold: this much in this time, without a blocked write, shows that a connection
/// is faster, by this factor.
const PROOF: (usize, Duration, usize) = (48_000, Duration::from_secs(4), 4);
/// For one that didn't answer, as on a busy machine.
const SLOW_PROOF: (usize, Duration, usize) = (24_000, Duration::from_secs(30), 2);
const FASTEST: usize = 1_000_000;
/// Approximate escape sequences of a styled span.
const SPAN_BYTES: usize = 12;
const PROGRESS_FRAME: Duration = Duration::from_millis(40);
const SLOW_FRAME: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(4);
/// A longer write had to wait for the terminal.
const BLOCKED: Duration = Duration::from_millis(100);
/// Blocked writes further apart were standstills, such as a suspended machine.
const RECENT: Duration = Duration::from_secs(20);
/// What is still queued when a blocked write returns: on Linux 6.18, 21 kB fit, and it returned after 16 kB had left.
const STILL_WAITING: usize = 5_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speed {
    Fast,
    Slow(usize),
    #[default]
    Unknown,
}

#[derive(Debug)]
pub struct Connection {
    rate: usize,
    slow: bool,
    measured: bool,
    /// When the last blocked write returned, and the bytes written since.
    blocked: Option<(Instant, usize)>,
    /// The same for writes that didn't block.
    free: Option<(Instant, usize)>,
}

impl Speed {
    pub fn connection(self) -> Connection {
        let (rate, slow) = match self {
            Self::Fast => (FAST, false),
            Self::Slow(rate) => (rate.max(LEAST), true),
            Self::Unknown => (LEAST, true),
        };
        Connection { rate, slow, measured: matches!(self, Self::Slow(_)), blocked: None, free: None }
    }
}

impl Connection {
    pub fn is_slow(&self) -> bool {
        self.slow
    }

    /// Takes at least one line.
    pub fn part(&self, waiting: &mut VecDeque<Line<'static>>) -> Vec<Line<'static>> {
        let most = if self.slow { self.rate / 4 } else { FAST_PART };
        let mut bytes = 0;
        let fits = waiting.iter().take_while(|line| {
            let fits = bytes < most;
            bytes += line.spans.iter().map(|span| span.content.len() + SPAN_BYTES).sum::<usize>();
            fits
        });
        let count = fits.count();
        waiting.drain(..count).collect()
    }

    /// Equally much is queued after each blocked write, so the bytes written between two of them are what was transmitted.
    pub fn pause(&mut self, bytes: usize, took: Duration, now: Instant) -> Duration {
        let mut ahead = bytes;
        if let Some((_, written)) = &mut self.blocked {
            *written += bytes;
        }
        if took > BLOCKED {
            let before = self.blocked.replace((now, 0));
            if let Some((since, written)) = before.filter(|(since, _)| now - *since < RECENT) {
                let measured = written * 1_000 / (now - since).as_millis().max(1) as usize;
                // A little less, so that the queue shrinks.
                self.rate = (measured * 3 / 4).clamp(LEAST, self.rate);
                (self.slow, self.measured) = (true, true);
                ahead = STILL_WAITING;
            }
        }
        let (proof, time, factor) = if self.slow { SLOW_PROOF } else { PROOF };
        self.free = self.free.filter(|(since, _)| took <= BLOCKED && now - *since < time);
        let (_, written) = self.free.get_or_insert((now, 0));
        *written += bytes;
        if *written >= proof && !self.measured {
            (self.rate, self.free) = ((self.rate * factor).min(FASTEST), None);
            self.slow &= self.rate < FAST;
        }
        let pause = Duration::from_millis((1_000 * ahead / self.rate) as u64);
        match self.slow {
            true => pause.clamp(SLOW_FRAME, LONGEST),
            false => pause.clamp(PROGRESS_FRAME, SLOW_FRAME),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(count: usize) -> VecDeque<Line<'static>> {
        (0..count).map(|_| Line::raw("x".repeat(88))).collect()
    }

    #[test]
    fn parts() {
        let mut waiting = lines(300);
        assert_eq!(Speed::Unknown.connection().part(&mut waiting).len(), 4);
        assert_eq!(Speed::Slow(4_400).connection().part(&mut waiting).len(), 11);
        assert_eq!(Speed::Fast.connection().part(&mut waiting).len(), 82);
        assert_eq!(waiting.len(), 300 - 4 - 11 - 82);
        let mut long = VecDeque::from([Line::raw("x".repeat(5_000)), Line::raw("y")]);
        assert_eq!(Speed::Unknown.connection().part(&mut long).len(), 1);
    }

    #[test]
    fn much_that_does_not_block_is_printed_faster_and_faster() {
        let print = |speed: Speed, parts: usize| {
            let (mut connection, mut now) = (speed.connection(), Instant::now());
            for _ in 0..parts {
                let part: usize = connection.part(&mut lines(100)).iter().map(Line::width).sum();
                now += connection.pause(part, Duration::ZERO, now);
            }
            (connection.pause(8_192, Duration::ZERO, now), connection.is_slow())
        };
        assert_eq!(print(Speed::Fast, 1), (SLOW_FRAME, false));
        assert_eq!(print(Speed::Fast, 40), (PROGRESS_FRAME, false));
        assert!(print(Speed::Unknown, 1).1);
        assert_eq!(print(Speed::Unknown, 400), (PROGRESS_FRAME, false));
        assert!(print(Speed::Slow(3_000), 400).1, "what was measured counts");
        let (mut seldom, start) = (Speed::Fast.connection(), Instant::now());
        let mut pauses =
            (0..100).map(|second| seldom.pause(8_192, Duration::ZERO, start + Duration::from_secs(second)));
        assert!(pauses.all(|pause| pause == SLOW_FRAME));
    }

    #[test]
    fn two_blocked_writes_show_the_rate() {
        let mut connection = Speed::Fast.connection();
        let (second, start) = (Duration::from_secs(1), Instant::now());
        assert_eq!(connection.pause(4_000, second, start), SLOW_FRAME);
        assert_eq!(connection.pause(100, Duration::ZERO, start), PROGRESS_FRAME);
        connection.pause(4_000, second, start + RECENT);
        assert!(!connection.is_slow(), "a standstill came before");
        connection.pause(8_192, Duration::ZERO, start + RECENT + second);
        let pause = connection.pause(8_192, second, start + RECENT + second * 4);
        assert_eq!(connection.rate, 16_384 / 4 * 3 / 4);
        assert!(connection.is_slow() && pause > second, "{pause:?}");
        assert_eq!(connection.part(&mut lines(300)).len(), 8);
    }
}
