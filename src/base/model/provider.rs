//! The interface between the agent and a model server, and its failures.

use std::time::Duration;

use futures_util::stream::BoxStream;
use thiserror::Error;

use super::context_limit;
use super::request::Request;
use super::stream::StreamEvent;

/// A running answer. Dropping it cancels the request.
pub type ReplyStream = BoxStream<'static, Result<StreamEvent, ProviderError>>;

pub trait Provider: Send + Sync {
    /// Sends `request` and streams the answer. Retries where that is safe ([`ProviderError::retry`]),
    /// announcing each retry as `Restarted`; the first `Err` is final and ends the stream.
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
    #[error("the request does not fit the model's context window: {message}")]
    ContextFull { message: String },
    #[error("the endpoint {url} does not serve this request: {message}")]
    WrongEndpoint { url: String, message: String },
    #[error("this model takes no tool calls here: {message}")]
    ToolsRefused { message: String },
    #[error("the server rejects earlier reasoning: {message}")]
    ReasoningRejected { message: String },
    #[error("rate limit reached (HTTP {status}): {message}")]
    RateLimited { status: u16, message: String, retry_after: Option<Duration> },
    #[error("server error (HTTP {status}): {message}")]
    Server { status: u16, message: String, retry_after: Option<Duration> },
    #[error("can't connect to {url}: {message}")]
    Connect { url: String, message: String },
    #[error("the TLS connection to {url} failed: {message}")]
    Tls { url: String, message: String },
    #[error("the answer is incomplete: {message}")]
    Broken { message: String },
    #[error("no data from the server for {seconds} s")]
    Stalled { seconds: u64 },
    #[error("the reply was not finished within {seconds} s")]
    TooLong { seconds: u64 },
    #[error("runaway response: {message}")]
    TooLarge { message: String },
    #[error("invalid server response: {message}")]
    Protocol { message: String },
    #[error("script error: {message}")]
    Script { message: String },
    #[error("{message}")]
    Setup { message: String },
    /// The run may not cost more, or nobody knows what the request would cost.
    #[error("{message}")]
    CostLimit { message: String },
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
            Self::Connect { .. } | Self::Broken { .. } | Self::Stalled { .. } => Retry::Backoff,
            _ => Retry::Never,
        }
    }

    /// Whether it passes by itself: nothing answers, or the server has too much to do.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::RateLimited { .. } => true,
            Self::Server { status, .. } => matches!(status, 502..=504 | 529),
            _ => false,
        }
    }

    /// The window in tokens that the server names if the request doesn't fit.
    pub fn context_limit(&self) -> Option<u64> {
        match self {
            Self::ContextFull { message } => context_limit::in_message(message),
            _ => None,
        }
    }

    /// What the user can do about it. `kept`: the message is in the session, so it can continue from there.
    pub fn hint(&self, kept: bool) -> String {
        let again = if kept { "say \"continue\" to resume" } else { "send the message again" };
        match self {
            Self::Auth { .. } => {
                "check the API key (OPENAI_API_KEY, ANTHROPIC_API_KEY or MYCODE_API_KEY) and that it belongs to this server"
            }
            Self::NotFound { .. } => {
                "check --base-url (most servers need it to end in /v1) and that the model name exists there"
            }
            Self::BadRequest { status, message }
                if matches!(status, 402 | 403 | 429 | 500..)
                    || ["budget", "usage limits"].iter().any(|word| message.to_lowercase().contains(word)) =>
            {
                "add credit or raise the limit with the key's provider, or use another model"
            }
            Self::BadRequest { .. } => "the server's message says what it did not accept; check --model",
            Self::ContextFull { .. } => {
                "set context_window to the model's real size in config.toml, or run /compact and try again"
            }
            Self::WrongEndpoint { .. } => {
                "use provider = \"openai\", which finds the endpoint (chat and responses insist on one), and check --base-url"
            }
            Self::ReasoningRejected { .. } => {
                "run /compact, which leaves earlier reasoning out, or start a new session"
            }
            Self::ToolsRefused { message } if message.contains("--jinja") => {
                "start llama-server with --jinja, or use another model"
            }
            Self::ToolsRefused { .. } => "use a model that can call tools, or another server for this one",
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
            Self::Broken { .. } => return format!("nothing was lost: {again}"),
            Self::Stalled { .. } => {
                return format!(
                    "nothing was lost: {again}. For slow local models raise idle_timeout_s in config.toml"
                );
            }
            Self::TooLong { .. } => {
                "ask for less at once, or raise answer_timeout_s in config.toml if the model needs that long"
            }
            Self::TooLarge { .. } => {
                "ask for less at once; if it happens often, set max_output_tokens or try another model"
            }
            Self::Protocol { .. } => "check that --base-url and --provider name the same kind of server",
            Self::Script { .. } => "check the script file: one JSON object per line",
            Self::CostLimit { .. } => {
                "raise --max-cost and continue with `mycode exec -c`; models.toml next to config.toml sets prices"
            }
            Self::Setup { .. } => "run `mycode doctor`, or see `mycode --help` for the model settings",
        }
        .to_owned()
    }
}
