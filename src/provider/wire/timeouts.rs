//! How long a reply may take. Every wait ends: for the next byte, the next data of the answer (keep-alives and empty
//! events don't count), the formal end, and the full answer. A long silence is reported before that.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::retry::RetryPolicy;
use base::model::provider::ProviderError;
use base::model::stream::StreamEvent;

/// For the formal end of an answer that has a finish reason.
const END_GRACE: Duration = Duration::from_secs(5);
/// Bytes without data of the answer extend the idle limit by at most this factor.
const KEEP_ALIVE_FACTOR: u32 = 4;

pub enum Waited<T> {
    Ready(T),
    /// Not over yet, but the user should know.
    Silent(StreamEvent),
    /// Only the formal end is missing, and it doesn't come.
    Settled,
    Failed(ProviderError),
}

pub struct Timeouts {
    idle: Duration,
    longest: Duration,
    first_notice: Duration,
    begun: Instant,
    received: Instant,
    /// The last data of the answer, not just any bytes.
    progressed: Instant,
    settled: Option<Instant>,
    /// No data of the answer has come, and there is no limit until it does.
    unlimited: bool,
    notices: u32,
}

impl Timeouts {
    pub fn new(retry: &RetryPolicy) -> Self {
        let now = Instant::now();
        Self {
            idle: retry.idle,
            longest: retry.longest_answer,
            first_notice: retry.first_notice,
            begun: now,
            received: now,
            progressed: now,
            settled: None,
            unlimited: retry.unlimited_start,
            notices: 0,
        }
    }

    pub fn received(&mut self) {
        self.received = Instant::now();
    }

    pub fn progressed(&mut self) {
        self.progressed = Instant::now();
        self.notices = 0;
        if std::mem::take(&mut self.unlimited) {
            (self.begun, self.received) = (self.progressed, self.progressed);
        }
    }

    pub fn settle(&mut self) {
        self.settled.get_or_insert_with(Instant::now);
    }

    /// After a `Silent`, call it again with the same future.
    pub async fn wait<T>(&mut self, coming: impl Future<Output = T>) -> Waited<T> {
        let (end, after) = self.end();
        let notice = self.progressed + self.first_notice.saturating_mul(1 << self.notices.min(31));
        let until = if self.unlimited { notice } else { end.min(notice) };
        match timeout_at(until, coming).await {
            Ok(came) => Waited::Ready(came),
            Err(_) if self.settled.is_some() => Waited::Settled,
            Err(_) => {
                let now = Instant::now();
                if now >= end && !self.unlimited {
                    return Waited::Failed(after);
                }
                self.notices += 1;
                // While bytes arrive, the limit for silence moves, and only the others count down.
                let alive = self.received > self.progressed && now - self.received < self.idle / 4;
                let end = if alive { self.nothing().min(self.begun + self.longest) } else { end };
                let left = (!self.unlimited).then(|| end - now);
                Waited::Silent(StreamEvent::Silent { since: now - self.progressed, left, alive })
            }
        }
    }

    /// When the wait ends even if bytes keep arriving.
    fn nothing(&self) -> Instant {
        self.progressed + self.idle.saturating_mul(KEEP_ALIVE_FACTOR)
    }

    /// When the wait ends, and with which error.
    fn end(&self) -> (Instant, ProviderError) {
        let stalled = |since: Instant, end: Instant| ProviderError::Stalled {
            seconds: end.saturating_duration_since(since).as_secs(),
        };
        if let Some(settled) = self.settled {
            let end = settled + END_GRACE.min(self.idle);
            return (end, stalled(settled, end));
        }
        let silence = self.received + self.idle;
        let nothing = self.nothing();
        let whole = self.begun + self.longest;
        if whole <= silence && whole <= nothing {
            (whole, ProviderError::TooLong { seconds: self.longest.as_secs() })
        } else if silence <= nothing {
            (silence, stalled(self.received, silence))
        } else {
            (nothing, stalled(self.progressed, nothing))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn timeouts(idle_ms: u64, longest_ms: u64) -> Timeouts {
        Timeouts::new(&RetryPolicy {
            idle: Duration::from_millis(idle_ms),
            longest_answer: Duration::from_millis(longest_ms),
            first_notice: Duration::from_millis(10),
            ..RetryPolicy::new(1, 1)
        })
    }

    /// Receives bytes without content until the wait ends; returns the number of notices, and the error.
    async fn keep_alive(timeouts: &mut Timeouts) -> (usize, String) {
        let mut notices = 0;
        loop {
            timeouts.received();
            match timeouts.wait(tokio::time::sleep(Duration::from_millis(1))).await {
                Waited::Ready(()) => {}
                Waited::Silent(_) => notices += 1,
                Waited::Settled => return (notices, "settled".to_owned()),
                Waited::Failed(error) => return (notices, error.to_string()),
            }
        }
    }

    /// Bytes without content don't stop the countdown.
    #[tokio::test(start_paused = true)]
    async fn the_rest_counts_down_while_the_connection_lives() {
        let mut timeouts = timeouts(40_000, 600_000);
        timeouts.first_notice = Duration::from_secs(5);
        let mut told = Vec::new();
        loop {
            timeouts.received();
            match timeouts.wait(tokio::time::sleep(Duration::from_secs(1))).await {
                Waited::Ready(()) => {}
                Waited::Silent(StreamEvent::Silent { since, left, alive }) => {
                    assert!(alive);
                    let left = left.unwrap();
                    told.push(left);
                    assert_eq!((since + left).as_secs(), 160, "whatever the moment, the end is the same");
                }
                Waited::Failed(_) => break,
                _ => unreachable!(),
            }
        }
        assert!(told.len() > 3 && told.is_sorted_by(|a, b| a > b), "{told:?}");
    }

    #[tokio::test]
    async fn silence_is_shown_and_ends() {
        let mut timeouts = timeouts(600, 60_000);
        let mut notices = Vec::new();
        let error = loop {
            match timeouts.wait(std::future::pending::<()>()).await {
                Waited::Silent(StreamEvent::Silent { since, left, .. }) => {
                    notices.push((since + left.unwrap()).as_millis())
                }
                Waited::Failed(error) => break error,
                _ => unreachable!(),
            }
        };
        assert!(matches!(error, ProviderError::Stalled { .. }));
        // Every notice names the same end.
        assert!(!notices.is_empty() && notices.iter().all(|all| *all == 600), "{notices:?}");
    }

    #[tokio::test]
    async fn keep_alives_are_limited() {
        let (notices, end) = keep_alive(&mut timeouts(30, 60_000)).await;
        assert!(notices > 0 && end.contains("no data"), "{notices} {end}");
    }

    #[tokio::test]
    async fn whole_answer_timeout() {
        let mut timeouts = timeouts(60_000, 20);
        let end = loop {
            timeouts.progressed();
            match timeouts.wait(std::future::pending::<()>()).await {
                Waited::Failed(error) => break error,
                Waited::Silent(_) => {}
                _ => unreachable!(),
            }
        };
        assert!(matches!(end, ProviderError::TooLong { .. }));
    }

    #[tokio::test(start_paused = true)]
    async fn a_local_server_may_take_its_time_before_the_first_piece() {
        let mut timeouts = timeouts(40_000, 600_000);
        timeouts.unlimited = true;
        let mut silent = Duration::ZERO;
        while silent < Duration::from_secs(86_400) {
            match timeouts.wait(std::future::pending::<()>()).await {
                Waited::Silent(StreamEvent::Silent { since, left: None, .. }) => silent = since,
                _ => unreachable!(),
            }
        }
        // From then on, the usual limits apply.
        timeouts.progressed();
        let end = loop {
            match timeouts.wait(std::future::pending::<()>()).await {
                Waited::Silent(StreamEvent::Silent { left, .. }) => assert!(left.is_some()),
                Waited::Failed(error) => break error,
                _ => unreachable!(),
            }
        };
        assert!(matches!(end, ProviderError::Stalled { seconds: 40 }), "{end}");
    }

    #[tokio::test]
    async fn huge_limits() {
        let mut timeouts = Timeouts::new(&RetryPolicy::new(u64::MAX, 1));
        timeouts.longest = RetryPolicy::new(u64::MAX, 1).idle;
        assert!(matches!(timeouts.wait(std::future::ready(7)).await, Waited::Ready(7)));
    }

    #[tokio::test]
    async fn settled_answer() {
        let mut timeouts = timeouts(20, 60_000);
        timeouts.settle();
        assert_eq!(keep_alive(&mut timeouts).await.1, "settled");
    }
}
