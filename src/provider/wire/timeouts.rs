//! How long an answer may keep us waiting. Every wait has an end: for the next byte, for the next piece of the
//! answer (keep-alives and empty events are none), for the formal end of an answer that has said why it ended, and
//! for the whole. A long silence is told before it ends.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::retry::RetryPolicy;
use crate::model::stream::StreamEvent;
use crate::provider::api::ProviderError;

/// How long to wait for the formal end of an answer that has said why it ended.
const END_GRACE: Duration = Duration::from_secs(5);
/// Bytes that hold nothing of the answer prolong the idle limit up to so many times.
const KEEP_ALIVE_FACTOR: u32 = 4;

/// What a wait brought.
pub enum TimedOut<T> {
    Came(T),
    /// Not over yet, but worth telling.
    Word(StreamEvent),
    /// The answer has ended but for its formal end, and that does not come.
    Enough,
    Over(ProviderError),
}

/// The waits of one try.
pub struct Timeouts {
    idle: Duration,
    longest: Duration,
    first_word: Duration,
    begun: Instant,
    /// When the last byte came.
    heard: Instant,
    /// When the last piece of the answer came.
    moved: Instant,
    settled: Option<Instant>,
    /// Words since `moved`.
    words: u32,
}

impl Timeouts {
    /// Begins now.
    pub fn new(pace: &RetryPolicy) -> Self {
        let now = Instant::now();
        Self {
            idle: pace.idle,
            longest: pace.longest_answer,
            first_word: pace.first_word,
            begun: now,
            heard: now,
            moved: now,
            settled: None,
            words: 0,
        }
    }

    /// Bytes have come, whatever they are.
    pub fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// A piece of the answer has come.
    pub fn moved(&mut self) {
        self.moved = Instant::now();
        self.words = 0;
    }

    /// The answer has said why it ended.
    pub fn settle(&mut self) {
        self.settled.get_or_insert_with(Instant::now);
    }

    /// Waits for `coming` as long as is allowed. After a `Word` the wait goes on with the same future.
    pub async fn wait<T>(&mut self, coming: impl Future<Output = T>) -> TimedOut<T> {
        let (end, after) = self.end();
        let word = self.moved + self.first_word.saturating_mul(1 << self.words.min(16));
        match timeout_at(end.min(word), coming).await {
            Ok(came) => TimedOut::Came(came),
            Err(_) if self.settled.is_some() => TimedOut::Enough,
            Err(_) => {
                let now = Instant::now();
                if now >= end {
                    return TimedOut::Over(after);
                }
                self.words += 1;
                TimedOut::Word(StreamEvent::Silent { since: now - self.moved, left: end - now })
            }
        }
    }

    /// When the wait ends, and what has happened then.
    fn end(&self) -> (Instant, ProviderError) {
        let stalled = |since: Instant, end: Instant| ProviderError::Stalled {
            seconds: end.saturating_duration_since(since).as_secs(),
        };
        if let Some(settled) = self.settled {
            let end = settled + END_GRACE.min(self.idle);
            return (end, stalled(settled, end));
        }
        let silence = self.heard + self.idle;
        let nothing = self.moved + self.idle.saturating_mul(KEEP_ALIVE_FACTOR);
        let whole = self.begun + self.longest;
        if whole <= silence && whole <= nothing {
            (whole, ProviderError::TooLong { seconds: self.longest.as_secs() })
        } else if silence <= nothing {
            (silence, stalled(self.heard, silence))
        } else {
            (nothing, stalled(self.moved, nothing))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn patience(idle_ms: u64, longest_ms: u64) -> Timeouts {
        Timeouts::new(&RetryPolicy {
            idle: Duration::from_millis(idle_ms),
            longest_answer: Duration::from_millis(longest_ms),
            first_word: Duration::from_millis(10),
            ..RetryPolicy::new(1, 1)
        })
    }

    /// Bytes come all the time and hold nothing, until the wait is over; the words on the way, and the end.
    async fn keep_alive(patience: &mut Timeouts) -> (usize, String) {
        let mut words = 0;
        loop {
            patience.heard();
            match patience.wait(tokio::time::sleep(Duration::from_millis(1))).await {
                TimedOut::Came(()) => {}
                TimedOut::Word(_) => words += 1,
                TimedOut::Enough => return (words, "enough".to_owned()),
                TimedOut::Over(error) => return (words, error.to_string()),
            }
        }
    }

    #[tokio::test]
    async fn a_silence_is_told_and_ends() {
        let mut patience = patience(600, 60_000);
        let mut words = Vec::new();
        let error = loop {
            match patience.wait(std::future::pending::<()>()).await {
                TimedOut::Word(StreamEvent::Silent { since, left }) => words.push((since + left).as_millis()),
                TimedOut::Over(error) => break error,
                _ => unreachable!(),
            }
        };
        assert!(matches!(error, ProviderError::Stalled { .. }));
        // Whatever the moment, it is said when the end is.
        assert!(!words.is_empty() && words.iter().all(|all| *all == 600), "{words:?}");
    }

    #[tokio::test]
    async fn keep_alives_prolong_it_only_so_far() {
        let (words, end) = keep_alive(&mut patience(30, 60_000)).await;
        assert!(words > 0 && end.contains("no data from"), "{words} {end}");
    }

    #[tokio::test]
    async fn the_whole_has_an_end_too() {
        let mut patience = patience(60_000, 20);
        let end = loop {
            patience.moved();
            match patience.wait(std::future::pending::<()>()).await {
                TimedOut::Over(error) => break error,
                TimedOut::Word(_) => {}
                _ => unreachable!(),
            }
        };
        assert!(matches!(end, ProviderError::TooLong { .. }));
    }

    #[tokio::test]
    async fn limits_beyond_all_time_are_limits_too() {
        let mut patience = Timeouts::new(&RetryPolicy::new(u64::MAX, 1));
        patience.longest = RetryPolicy::new(u64::MAX, 1).idle;
        assert!(matches!(patience.wait(std::future::ready(7)).await, TimedOut::Came(7)));
    }

    #[tokio::test]
    async fn a_settled_answer_is_not_waited_for_long() {
        let mut patience = patience(20, 60_000);
        patience.settle();
        assert_eq!(keep_alive(&mut patience).await.1, "enough");
    }
}
