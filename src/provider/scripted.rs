//! Answers from a script, without network or key: for tests, the demo, and reproducing faults.
//!
//! A script is JSON Lines: each object is one answer, in the order of the requests. Blank lines and lines
//! that start with `#` are skipped. All fields are optional; unknown ones are errors, to catch typos.
//! Example: `{"text": "I look first.", "calls": [{"name": "Read", "args": {"path": "src/a.rs"}}]}`.
//!
//! - `reasoning`: thinking, streamed first.
//! - `text`: the visible answer, streamed next.
//! - `calls`: `[{"name", "args", "id"?}]`; `args` is an object, or a string sent as is (broken JSON).
//! - `usage`: `{"input", "output", "cached"?, "cache_write"?, "reasoning"?}`; unknown by default.
//! - `finish`: `stop`, `tool_calls`, `length` or `content_filter`; by default, from whether there are calls.
//! - `error`: `{"kind", "message"}`, after the other fields. Kinds: `auth`, `not_found`, `bad_request`,
//!   `reasoning_rejected`, `context_full`, `rate_limited`, `server`, `connect`, `broken`, `stalled`,
//!   `protocol`. After a retryable one, the next line is the next try.
//! - `delay_ms`: the wait before each piece.
//! - `chunks`: the number of pieces of the text; default 1.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use async_stream::try_stream;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;

use super::call_ids::CallIds;
use crate::wire::retry::{RetryPolicy, with_retries};
use base::config::settings::ProviderSettings;
use base::model::call::ToolCall;
use base::model::item::{Item, Reasoning};
use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::Request;
use base::model::stream::StreamEvent;
use base::model::usage::{FinishReason, Usage};
use base::text;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ScriptLine {
    text: String,
    reasoning: String,
    calls: Vec<ScriptedCall>,
    usage: Option<Usage>,
    finish: Option<FinishReason>,
    error: Option<ScriptError>,
    delay_ms: u64,
    chunks: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptedCall {
    name: String,
    #[serde(default)]
    args: Value,
    #[serde(default)]
    id: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptError {
    kind: ErrorKind,
    #[serde(default)]
    message: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ErrorKind {
    Auth,
    NotFound,
    BadRequest,
    ReasoningRejected,
    ContextFull,
    RateLimited,
    Server,
    Connect,
    Broken,
    Stalled,
    Protocol,
}

pub struct Scripted {
    lines: Arc<Mutex<VecDeque<ScriptLine>>>,
    total: usize,
    retry: RetryPolicy,
    /// Answers every request after the end of the script; otherwise those are errors.
    closing: Option<Arc<str>>,
}

impl Scripted {
    pub fn new(settings: &ProviderSettings) -> Result<Self, ProviderError> {
        let fault = ProviderError::Script;
        let path =
            settings.script.as_ref().ok_or_else(|| fault("no script given; add --script FILE".to_owned()))?;
        let script = std::fs::read_to_string(path)
            .map_err(|error| fault(format!("{} cannot be read: {error}", path.display())))?;
        let mut scripted = Self::from_text(&script)?;
        scripted.retry.max_tries = settings.max_tries.max(1);
        Ok(scripted)
    }

    pub fn from_text(script: &str) -> Result<Self, ProviderError> {
        let mut lines = VecDeque::new();
        for (number, line) in (1..).zip(script.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parsed = serde_json::from_str(line)
                .map_err(|error| ProviderError::Script(format!("line {number}: {error}")))?;
            lines.push_back(parsed);
        }
        let retry = RetryPolicy { first_wait: Duration::from_millis(5), ..RetryPolicy::new(60, 4) };
        Ok(Self { total: lines.len(), lines: Arc::new(Mutex::new(lines)), retry, closing: None })
    }

    pub fn closing_with(mut self, text: &str) -> Self {
        self.closing = Some(text.into());
        self
    }
}

impl Provider for Scripted {
    fn stream(&self, request: &Request) -> ReplyStream {
        let (lines, total, ids) = (Arc::clone(&self.lines), self.total, CallIds::of(request));
        let closing = self.closing.clone();
        with_retries(self.retry.clone(), move || {
            let line = lines.lock().pop_front();
            let line = line.or_else(|| {
                closing.as_deref().map(|text| ScriptLine { text: text.into(), ..ScriptLine::default() })
            });
            play(line, total, ids.clone())
        })
    }

    fn name(&self) -> &'static str {
        "scripted"
    }
}

fn play(line: Option<ScriptLine>, total: usize, mut ids: CallIds) -> ReplyStream {
    Box::pin(try_stream! {
        let missing = || format!("it has {}, and the agent asked for one more", text::plural(total, "answer"));
        let line = line.ok_or_else(|| ProviderError::Script(missing()))?;
        let delay = Duration::from_millis(line.delay_ms);
        let chunks = line.chunks.unwrap_or(1);
        for piece in pieces(&line.reasoning, chunks) {
            pause(delay).await;
            yield StreamEvent::ReasoningDelta(piece.to_owned());
        }
        if !line.reasoning.is_empty() {
            let text = line.reasoning.as_str().into();
            yield StreamEvent::Item(Item::Reasoning(Reasoning { text, opaque: None }));
        }
        for piece in pieces(&line.text, chunks) {
            pause(delay).await;
            yield StreamEvent::TextDelta(piece.to_owned());
        }
        if let Some(error) = line.error {
            Err(error.provider_error())?;
        }
        if !line.text.is_empty() {
            yield StreamEvent::Item(Item::assistant(line.text.as_str()));
        }
        for call in &line.calls {
            pause(delay).await;
            let args = match &call.args {
                Value::Null => "{}".to_owned(),
                Value::String(raw) => raw.clone(),
                args => args.to_string(),
            };
            yield StreamEvent::CallStarted { name: call.name.clone() };
            yield StreamEvent::CallProgress { bytes: args.len() };
            yield StreamEvent::Item(Item::ToolCall(ToolCall {
                id: ids.claim(&call.id),
                name: call.name.as_str().into(),
                args: args.into(),
            }));
        }
        let usual = if line.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
        yield StreamEvent::Done { finish: line.finish.unwrap_or(usual), usage: line.usage };
    })
}

/// Even a zero sleep would wait for the timer's next tick.
async fn pause(delay: Duration) {
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
}

fn pieces(text: &str, count: usize) -> impl Iterator<Item = &str> {
    let step = text.len().div_ceil(count.max(1)).max(1);
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, after) = rest.split_at(rest.ceil_char_boundary(step));
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

impl ScriptError {
    fn provider_error(self) -> ProviderError {
        let (message, url) = (self.message, "script".to_owned());
        match self.kind {
            ErrorKind::Auth => ProviderError::Auth { status: 401, message },
            ErrorKind::NotFound => ProviderError::NotFound { url, message },
            ErrorKind::BadRequest => ProviderError::BadRequest { status: 400, message },
            ErrorKind::ReasoningRejected => ProviderError::ReasoningRejected(message),
            ErrorKind::ContextFull => ProviderError::ContextFull(message),
            ErrorKind::RateLimited => ProviderError::RateLimited { status: 429, message, retry_after: None },
            ErrorKind::Server => ProviderError::Server { status: 500, message, retry_after: None },
            ErrorKind::Connect => ProviderError::Connect { url, message },
            ErrorKind::Broken => ProviderError::Broken(message),
            ErrorKind::Stalled => ProviderError::Stalled { seconds: 0 },
            ErrorKind::Protocol => ProviderError::Protocol(message),
        }
    }
}
