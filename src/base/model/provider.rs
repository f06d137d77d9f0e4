//! The interface between the agent and a model server, and its errors.

use std::time::Duration;

use futures_util::stream::BoxStream;
use thiserror::Error;

use super::request::Request;
use super::stream::StreamEvent;
use crate::pattern::Pattern;

/// A running answer. Dropping it cancels the request.
pub type ReplyStream = BoxStream<'static, Result<StreamEvent, ProviderError>>;

pub trait Provider: Send + Sync {
    /// Retries if that is safe, announcing it as `Restarted`; the first `Err` is final and ends the stream.
    fn stream(&self, request: &Request) -> ReplyStream;

    fn name(&self) -> &'static str;
}

#[derive(Debug, Error)]
pub enum ProviderError {
    #[error("API key rejected (HTTP {status}): {message}")]
    Auth { status: u16, message: String },
    #[error("endpoint or model not found (HTTP 404 from {url}): {message}")]
    NotFound { url: String, message: String },
    #[error("request rejected (HTTP {status}): {message}")]
    BadRequest { status: u16, message: String },
    #[error("the request does not fit the model's context window: {0}")]
    ContextFull(String),
    #[error("the endpoint {url} does not serve this request: {message}")]
    WrongEndpoint { url: String, message: String },
    #[error("this model or its server does not support tool calls: {0}")]
    ToolsRefused(String),
    #[error("the server rejects earlier reasoning: {0}")]
    ReasoningRejected(String),
    #[error("rate limit reached (HTTP {status}): {message}")]
    RateLimited { status: u16, message: String, retry_after: Option<Duration> },
    #[error("server error (HTTP {status}): {message}")]
    Server { status: u16, message: String, retry_after: Option<Duration> },
    #[error("can't connect to {url}: {message}")]
    Connect { url: String, message: String },
    #[error("the TLS connection to {url} failed: {message}")]
    Tls { url: String, message: String },
    #[error("the answer is incomplete: {0}")]
    Broken(String),
    #[error("no data from the server for {seconds} s")]
    Stalled { seconds: u64 },
    #[error("the reply was not finished within {seconds} s")]
    TooLong { seconds: u64 },
    #[error("runaway response: {0}")]
    TooLarge(String),
    #[error("invalid server response: {0}")]
    Protocol(String),
    #[error("script error: {0}")]
    Script(String),
    #[error("{0}")]
    Setup(String),
    /// The run must not cost more, or the cost of the request is unknown.
    #[error("{0}")]
    CostLimit(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    Never,
    Backoff,
    /// Not before the time that the server asks for.
    After(Duration),
}

impl ProviderError {
    pub fn retry(&self) -> Retry {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => {
                retry_after.map_or(Retry::Backoff, Retry::After)
            }
            Self::Connect { .. } | Self::Broken(_) | Self::Stalled { .. } => Retry::Backoff,
            _ => Retry::Never,
        }
    }

    /// Whether it passes by itself: nothing answers, or the server is overloaded.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::RateLimited { .. } => true,
            Self::Server { status, .. } => matches!(status, 502..=504 | 529),
            _ => false,
        }
    }

    pub fn context_limit(&self) -> Option<u64> {
        let Self::ContextFull(message) = self else { return None };
        window_in(message)
    }

    /// What the user can do. `kept`: the message is in the session, so it can continue from there.
    pub fn hint(&self, kept: bool) -> String {
        let again = if kept { "say \"continue\" to resume" } else { "send the message again" };
        match self {
            Self::Auth { .. } => {
                "check that the API key belongs to this server: /login or `mycode login` saves another, and an exported one (OPENAI_API_KEY, ANTHROPIC_API_KEY, MYCODE_API_KEY) takes precedence"
            }
            Self::NotFound { .. } => {
                "check --base-url (most servers need it to end in /v1) and that the model name exists there"
            }
            Self::BadRequest { status, message }
                if matches!(status, 402 | 429 | 500..)
                    || MONEY.iter().any(|word| message.to_lowercase().contains(word)) =>
            {
                "add credit or raise the limit with the key's provider, or use another model"
            }
            Self::BadRequest { status: 403, .. } => {
                "the server, or a proxy on the way to it, refuses this request; its message says why"
            }
            Self::BadRequest { .. } => "the server's message says what it did not accept; check --model",
            Self::ContextFull(_) => {
                "if the model's window is larger, set context_window in config.toml; otherwise start a new session with less text"
            }
            Self::WrongEndpoint { .. } => {
                "use provider = \"openai\", which tries both endpoints (chat and responses use only one), and check --base-url"
            }
            Self::ReasoningRejected(_) => {
                "run /compact, which leaves earlier reasoning out, or start a new session"
            }
            Self::ToolsRefused(message) if message.contains("--jinja") => {
                "start llama-server with --jinja, or use another model"
            }
            Self::ToolsRefused(_) => "use a model that can call tools, or another server for this one",
            Self::RateLimited { .. } => {
                return format!(
                    "nothing was lost. Use another model or wait, then {again}. mycode waits longer with --wait 8h"
                );
            }
            Self::Server { .. } => return format!("nothing was lost. Try again later: {again}"),
            Self::Connect { .. } => {
                "check --base-url, that the server runs, and the proxy variables (HTTPS_PROXY, NO_PROXY)"
            }
            Self::Tls { .. } => {
                "check the address and the system clock; for a private certificate authority set NODE_EXTRA_CA_CERTS to its file"
            }
            Self::Broken(_) => return format!("nothing was lost: {again}"),
            Self::Stalled { .. } => {
                return format!(
                    "nothing was lost: {again}. For slow local models raise idle_timeout_s in config.toml"
                );
            }
            Self::TooLong { .. } => {
                "ask for less at once, or raise answer_timeout_s in config.toml if the model needs that long"
            }
            Self::TooLarge(_) => {
                "ask for less at once; if it happens often, set max_output_tokens or try another model"
            }
            Self::Protocol(_) => "check that --base-url and --provider name the same kind of server",
            Self::Script(_) => "check the script file: one JSON object per line",
            Self::CostLimit(_) => {
                "raise --max-cost and continue with `mycode exec -c`; models.toml next to config.toml sets prices"
            }
            Self::Setup(_) => "`mycode login` (/login in the chat) saves an API key; `mycode doctor` shows what is set",
        }
        .to_owned()
    }
}

const MONEY: [&str; 8] =
    ["budget", "usage limits", "credit", "quota", "billing", "funds", "key limit", "spending limit"];

static WAYS: [Pattern; 3] = [
    // `9000 > 8192`, `must be <= 4096`
    Pattern::new(r"[<>]=?\s*(\d{4,8})\b"),
    // `should be [1, 30720]`
    Pattern::new(r"\[\s*\d+\s*,\s*(\d{4,8})\s*\]"),
    // `maximum context length is 8192 tokens`, `n_ctx = 4096`, `allowed (8192)`, `less than 8193`
    Pattern::new(
        r"(?:maximum|max|limit|at most|less than|up to|allowed|window|context length|context size|n_ctx)[^0-9.,;]{0,30}(\d{4,8})\b",
    ),
];

/// The window that a server names when it refuses a request as too long, recognized by the words around the number.
fn window_in(message: &str) -> Option<u64> {
    // Read `200,000` as one number.
    let plain = thousands(&message.to_lowercase());
    WAYS.iter().find_map(|way| way.captures(&plain)?.get(1)?.as_str().parse().ok())
}

fn thousands(text: &str) -> String {
    static COMMA: Pattern = Pattern::new(r"(\d),(\d{3})\b");
    COMMA.replace_all(text, "$1$2").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn context_limits_among_other_numbers() {
        for (message, expected) in [
            (
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
                Some(8192),
            ),
            ("prompt is too long: 210,123 tokens > 200,000 maximum", Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease it",
                Some(200_000),
            ),
            ("`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000", Some(4096)),
            ("`inputs` must have less than 8193 tokens. Given: 9000", Some(8193)),
            ("Input token count (9000) exceeds the maximum number of tokens allowed (8192).", Some(8192)),
            ("Requested tokens (5000) exceed context window of 4096", Some(4096)),
            ("Range of input length should be [1, 30720]", Some(30_720)),
            (
                "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
                Some(8192),
            ),
            ("Too many tokens in the prompt. Max 32768.", Some(32_768)),
            ("Please reduce the length of the messages.", None),
            ("Prompt exceeds max length", None),
            ("your 9000 tokens are too many", None),
        ] {
            assert_eq!(window_in(message), expected, "{message}");
        }
    }
}
