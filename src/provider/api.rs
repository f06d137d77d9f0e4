//! The contract between the agent and a model server, and every way in which it can fail.

use std::borrow::Cow;
use std::time::Duration;

use futures_util::stream::BoxStream;
use thiserror::Error;

use crate::model::request::Request;
use crate::model::stream::StreamEvent;
use crate::provider::wire::context_limit_hint;

/// A running answer. Dropping it cancels the request.
pub type ReplyStream = BoxStream<'static, Result<StreamEvent, ProviderError>>;

/// A model server.
pub trait Provider: Send + Sync {
    /// Sends `request` and streams the answer. Tries again by itself where that is safe ([`ProviderError::retry`]),
    /// announcing each new try as `Restarted`; the first `Err` is final and ends the stream.
    fn stream(&self, request: &Request) -> ReplyStream;

    /// The exact bytes of the request body, for replay, hashing and size accounting.
    fn body(&self, request: &Request) -> String;

    /// Short name for people and records, such as `openai`.
    fn name(&self) -> &'static str;
}

/// Why no (whole) answer came.
#[derive(Debug, Error)]
pub enum ProviderError {
    #[error("the server rejected the API key (HTTP {status}): {message}")]
    Auth { status: u16, message: String },
    #[error("endpoint not found (HTTP 404 from {url}): {message}")]
    NotFound { url: String, message: String },
    #[error("the server rejected the request (HTTP {status}): {message}")]
    BadRequest { status: u16, message: String },
    #[error("the request exceeds the context window: {message}")]
    ContextFull { message: String },
    #[error("the server's rate limit was reached (HTTP {status}): {message}")]
    RateLimited { status: u16, message: String, retry_after: Option<Duration> },
    #[error("server error (HTTP {status}): {message}")]
    Server { status: u16, message: String, retry_after: Option<Duration> },
    #[error("can't connect to {url}: {message}")]
    Connect { url: String, message: String },
    #[error("the TLS connection to {url} failed: {message}")]
    Tls { url: String, message: String },
    #[error("the connection was lost during the reply: {message}")]
    Broken { message: String },
    #[error("no data from the server for {seconds} s")]
    Stalled { seconds: u64 },
    #[error("the reply was not finished within {seconds} s")]
    TooLong { seconds: u64 },
    #[error("runaway reply: {message}")]
    TooLarge { message: String },
    #[error("invalid server response: {message}")]
    Protocol { message: String },
    #[error("script error: {message}")]
    Script { message: String },
    #[error("{message}")]
    Setup { message: String },
}

/// Whether the same request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    Never,
    /// After the usual backoff.
    Backoff,
    /// Not before the server's own wish.
    After(Duration),
}

impl ProviderError {
    /// Whether sending the same request again can help.
    pub fn retry(&self) -> Retry {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Server { retry_after, .. } => {
                retry_after.map_or(Retry::Backoff, Retry::After)
            }
            Self::Connect { .. } | Self::Broken { .. } | Self::Stalled { .. } => Retry::Backoff,
            Self::Auth { .. }
            | Self::NotFound { .. }
            | Self::BadRequest { .. }
            | Self::ContextFull { .. }
            | Self::Tls { .. }
            | Self::TooLong { .. }
            | Self::TooLarge { .. }
            | Self::Protocol { .. }
            | Self::Script { .. }
            | Self::Setup { .. } => Retry::Never,
        }
    }

    /// The window in tokens that a server names when it says that the request does not fit.
    pub fn told_window(&self) -> Option<u64> {
        match self {
            Self::ContextFull { message } => context_limit_hint::window(message),
            _ => None,
        }
    }

    /// What the user can do about it. `kept` says that the message stands in the session, so that it can go on from there.
    pub fn hint(&self, kept: bool) -> String {
        let again = if kept {
            "send \"continue\" to retry; nothing was lost"
        } else {
            "send the message again; nothing was lost"
        };
        let hint: Cow<'static, str> = match self {
            Self::Auth { .. } => {
                "check the API key (OPENAI_API_KEY, ANTHROPIC_API_KEY or MYCODE_API_KEY) and that it belongs to this server".into()
            }
            Self::NotFound { .. } => {
                "check --base-url (most servers want it to end in /v1) and that the model name exists there".into()
            }
            Self::BadRequest { status: 402 | 429, .. } => {
                "add credit or raise the limit where the key comes from, or use another model".into()
            }
            Self::BadRequest { .. } => {
                "see the server's message above; check --model".into()
            }
            Self::ContextFull { .. } => {
                "set context_window to the model's real size in config.toml, or run /compact and try again".into()
            }
            Self::RateLimited { .. } => format!("wait a moment or use another model, then {again}").into(),
            Self::Server { .. } => format!("the problem is on the server's side; later, {again}").into(),
            Self::Connect { .. } => {
                "check --base-url, that the server is running, and the proxy variables (HTTPS_PROXY, NO_PROXY)".into()
            }
            Self::Tls { .. } => {
                "check the address and the system clock; for a private certificate authority set SSL_CERT_FILE".into()
            }
            Self::Broken { .. } => again.into(),
            Self::Stalled { .. } => {
                format!("{again}; for slow local models raise idle_timeout_s in config.toml").into()
            }
            Self::TooLong { .. } => {
                "ask for less at once, or raise answer_timeout_s in config.toml".into()
            }
            Self::TooLarge { .. } => {
                "ask for less at once; if it happens often, set max_output_tokens or try another model".into()
            }
            Self::Protocol { .. } => "check that --base-url and --provider name the same kind of server".into(),
            Self::Script { .. } => "check the script file: one JSON object per line".into(),
            Self::Setup { .. } => "run `mycode doctor`, or see `mycode --help` for the model settings".into(),
        };
        hint.into_owned()
    }
}
