//! The only place that retries requests; errors say whether another attempt can help.

use std::time::Duration;

use async_stream::stream;
use futures_util::StreamExt;
use tokio::time::Instant;

use super::http;
use base::config::settings::ProviderSettings;
use base::model::provider::{ProviderError, ReplyStream, Retry};
use base::model::stream::StreamEvent;
use base::protocol::event::WAITING;
use base::{clock, text};

#[derive(Clone, Debug)]
pub struct RetryPolicy {
    /// Gives up on an answer without data for this long.
    pub idle: Duration,
    /// Gives up on an answer that isn't finished after this time.
    pub longest_answer: Duration,
    /// Never gives up before the first data of an answer, because small machines read a prompt for minutes.
    pub unlimited_start: bool,
    /// A silence is reported after this time, then after twice the time, and so on.
    pub first_notice: Duration,
    pub max_tries: u32,
    /// Before the second attempt; doubles with each further one.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// Limit for all pauses of one request. If a server asks for more, the request fails at once.
    pub longest_pause: Duration,
    /// Whether to wait out outages (no connection, overload, limits) until `longest_pause`, whatever `max_tries`.
    pub waits_out: bool,
}

/// Keeps deadlines within what the clock can represent.
const LONGEST_TIMEOUT_S: u64 = 365 * 24 * 3_600;

impl RetryPolicy {
    /// An hour per answer; half a second before the second attempt, doubling to 30 s; a server's wish up to 10 minutes.
    pub fn new(idle_timeout_s: u64, max_tries: u32) -> Self {
        Self {
            idle: limit(idle_timeout_s),
            longest_answer: Duration::from_secs(3_600),
            unlimited_start: false,
            first_notice: Duration::from_secs((idle_timeout_s / 3).clamp(1, 10)),
            max_tries: max_tries.max(1),
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(30),
            longest_pause: Duration::from_secs(600),
            waits_out: false,
        }
    }

    pub fn of(settings: &ProviderSettings) -> Self {
        let usual = Self::new(settings.idle_timeout_s, settings.max_tries);
        Self {
            longest_answer: limit(settings.answer_timeout_s),
            longest_pause: settings.wait_s.map_or(usual.longest_pause, limit),
            waits_out: settings.wait_s.is_some(),
            unlimited_start: http::parse(&settings.base_url).is_ok_and(|url| http::is_loopback(&url)),
            ..usual
        }
    }

    fn tries(&self, error: &ProviderError) -> u32 {
        // If nothing answers, the address is more likely wrong than the server busy, so fail soon.
        let unreachable = matches!(error, ProviderError::Connect { .. } | ProviderError::Stalled { .. });
        if unreachable { self.max_tries.min(UNREACHABLE_TRIES) } else { self.max_tries }
    }

    /// The wait after attempt number `tried` (from 1), if the first failure was `since` ago; `None` if it was the last.
    fn wait_after(&self, error: &ProviderError, tried: u32, since: Duration) -> Option<Duration> {
        let waits_out = self.waits_out && error.is_outage();
        if tried >= self.tries(error) && !waits_out {
            return None;
        }
        let doubled = self.first_wait.saturating_mul(1 << (tried - 1).min(16));
        // 75% to 125%, so that agents that failed together don't retry together.
        let own = doubled.mul_f64(0.75 + fastrand::f64() / 2.0).min(self.longest_wait);
        let within = |wait: &Duration| since.saturating_add(*wait) <= self.longest_pause;
        match error.retry() {
            Retry::Never => None,
            // "At once" isn't a pause, and a date may have passed in transit.
            Retry::After(wish) if !wish.is_zero() => Some(wish).filter(within),
            _ if waits_out => Some(own).filter(within),
            _ => Some(own),
        }
    }

    /// Announces the next attempt; the first failure was `since` ago.
    fn restarted(&self, error: &ProviderError, tried: u32, wait: Duration, since: Duration) -> StreamEvent {
        let mut reason = text::one_line(&error.to_string(), 200);
        let mut of = self.tries(error);
        if self.waits_out && error.is_outage() {
            let left = self.longest_pause.saturating_sub(since);
            let more = left.as_millis() / wait.max(self.longest_wait).as_millis().max(1);
            of = of.max(tried.saturating_add(u32::try_from(more).unwrap_or(u32::MAX)));
            let begun = clock::now_ms().saturating_sub(clock::milliseconds(since));
            let end = begun.saturating_add(clock::milliseconds(self.longest_pause));
            reason =
                format!("{reason}; {WAITING} {}, until {} at most", clock::local(begun), clock::local(end));
        }
        StreamEvent::Restarted { attempt: tried + 1, of: of.max(tried + 1), wait, reason }
    }
}

fn limit(seconds: u64) -> Duration {
    Duration::from_secs(seconds.clamp(1, LONGEST_TIMEOUT_S))
}

/// For servers that don't answer or go silent, because each attempt may take as long as the idle limit.
const UNREACHABLE_TRIES: u32 = 3;

/// Each further attempt is announced by `Restarted`; the last error is final.
pub fn with_retries(policy: RetryPolicy, start: impl Fn() -> ReplyStream + Send + 'static) -> ReplyStream {
    Box::pin(stream! {
        let mut failed = None;
        for tried in 1.. {
            let mut answer = start();
            let error = loop {
                match answer.next().await {
                    Some(Ok(event)) => {
                        let done = matches!(event, StreamEvent::Done { .. });
                        yield Ok(event);
                        if done {
                            return;
                        }
                    }
                    Some(Err(error)) => break error,
                    None => break ProviderError::Broken("it ended too early".to_owned()),
                }
            };
            drop(answer);
            let since = failed.get_or_insert_with(Instant::now).elapsed();
            let Some(wait) = policy.wait_after(&error, tried, since) else {
                yield Err(error);
                return;
            };
            yield Ok(policy.restarted(&error, tried, wait, since));
            tokio::time::sleep(wait).await;
        }
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::stream;

    use super::*;
    use base::model::usage::FinishReason;

    fn quick() -> RetryPolicy {
        RetryPolicy {
            first_wait: Duration::from_millis(1),
            longest_wait: Duration::from_millis(2),
            ..RetryPolicy::new(1, 4)
        }
    }

    fn done() -> StreamEvent {
        StreamEvent::Done { finish: FinishReason::Stop, usage: None }
    }

    async fn play(
        policy: RetryPolicy,
        answer: impl Fn(u32) -> Vec<Result<StreamEvent, ProviderError>> + Send + 'static,
    ) -> Vec<String> {
        let tries = Arc::new(AtomicU32::new(0));
        with_retries(policy, move || Box::pin(stream::iter(answer(tries.fetch_add(1, Ordering::SeqCst) + 1))))
            .map(|event| match event {
                Ok(StreamEvent::Restarted { attempt, .. }) => format!("try {attempt}"),
                Ok(StreamEvent::TextDelta(text)) => text,
                Ok(_) => "done".to_owned(),
                Err(error) => error.to_string(),
            })
            .collect()
            .await
    }

    fn server() -> ProviderError {
        ProviderError::Server { status: 500, message: "oops".to_owned(), retry_after: None }
    }

    #[tokio::test]
    async fn restart_after_break() {
        let seen = play(quick(), |tried| match tried {
            1 => vec![Ok(StreamEvent::TextDelta("half".into())), Err(server())],
            2 => vec![],
            _ => vec![Ok(StreamEvent::TextDelta("whole".into())), Ok(done())],
        });
        assert_eq!(seen.await, ["half", "try 2", "try 3", "whole", "done"]);
    }

    #[tokio::test]
    async fn bounded_tries() {
        let seen = play(quick(), |_| vec![Err(server())]).await;
        assert_eq!(seen, ["try 2", "try 3", "try 4", "server error (HTTP 500): oops"]);
    }

    #[tokio::test]
    async fn final_errors_and_long_waits() {
        let seen =
            play(quick(), |_| vec![Err(ProviderError::Auth { status: 401, message: "no".to_owned() })]);
        assert_eq!(seen.await, ["API key rejected (HTTP 401): no"]);
        let seen = play(quick(), |_| vec![Err(limited(601))]);
        assert_eq!(seen.await.len(), 1);
    }

    fn limited(seconds: u64) -> ProviderError {
        let retry_after = Some(Duration::from_secs(seconds));
        ProviderError::RateLimited { status: 429, message: "later".to_owned(), retry_after }
    }

    #[tokio::test(start_paused = true)]
    async fn all_pauses_of_a_request_are_bounded() {
        let seen = play(RetryPolicy::new(1, 9), |_| vec![Err(limited(250))]).await;
        assert_eq!(seen, ["try 2", "try 3", "rate limit reached (HTTP 429): later"]);
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_is_waited_out() {
        let policy = RetryPolicy {
            longest_pause: Duration::from_secs(3_600),
            waits_out: true,
            ..RetryPolicy::new(1, 2)
        };
        let begun = Instant::now();
        let connect = || ProviderError::Connect { url: "http://x".to_owned(), message: "refused".to_owned() };
        let seen = play(policy.clone(), move |_| {
            let error = if begun.elapsed() < Duration::from_secs(1_000) { Some(connect()) } else { None };
            error.map_or_else(|| vec![Ok(done())], |error| vec![Err(error)])
        });
        assert_eq!(seen.await.last().map(String::as_str), Some("done"));
        let begun = Instant::now();
        let seen = play(policy.clone(), move |_| vec![Err(connect())]).await;
        assert!(seen.len() > 100 && seen.last().unwrap().contains("refused"), "{seen:?}");
        assert!((3_500..3_601).contains(&begun.elapsed().as_secs()));
        // Problems of the server itself don't pass.
        let seen = play(policy, |_| vec![Err(server())]).await;
        assert_eq!(seen, ["try 2", "server error (HTTP 500): oops"]);
    }

    #[test]
    fn wait_lengths() {
        let policy = RetryPolicy::new(60, 100);
        for (tried, low, high) in [(1, 375, 625), (2, 750, 1250), (5, 6_000, 10_000), (60, 22_500, 30_000)] {
            let wait = policy.wait_after(&server(), tried, Duration::ZERO).unwrap().as_millis();
            assert!((low..=high).contains(&wait), "{tried}: {wait}");
        }
        let wish = |since| policy.wait_after(&limited(61), 1, Duration::from_secs(since));
        assert_eq!((wish(0), wish(540)), (Some(Duration::from_secs(61)), None));
    }
}
