//! Why a server did not do what was asked, in one type for all ways of reaching it.

use std::time::Duration;

use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use thiserror::Error;

use provider::wire::http;

/// Why a server did not do what was asked.
#[derive(Debug, Error)]
pub enum McpError {
    /// It could not be reached at all.
    #[error("{0}")]
    Start(String),
    /// It wants the user to sign in; or that failed.
    #[error("{}", failed.as_deref().map_or_else(|| "it wants you to sign in".to_owned(), |why| format!("signing in failed: {why}")))]
    SignIn { challenge: String, failed: Option<String> },
    /// It said no.
    #[error("{0}")]
    Refused(String),
    /// What it answered is not what the protocol has there.
    #[error("its answer is not valid in the protocol")]
    Invalid,
    #[error("the connection was lost: {0}")]
    Lost(String),
    #[error("it gave no sign of life for {} s", .0.as_secs())]
    Timeout(Duration),
    #[error("interrupted")]
    Cancelled,
}

impl From<ServiceError> for McpError {
    fn from(error: ServiceError) -> Self {
        if let Some(challenge) = error.auth_challenge() {
            return Self::SignIn { challenge: challenge.to_owned(), failed: None };
        }
        if error.is_authorization_required() {
            return Self::SignIn { challenge: String::new(), failed: None };
        }
        match error {
            ServiceError::McpError(said) => Self::Refused(said.message.into_owned()),
            ServiceError::UnexpectedResponse => Self::Invalid,
            error => Self::Lost(root_cause(&error)),
        }
    }
}

/// All that an error is caused by, without what only repeats.
pub fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let last = std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error);
    match last.downcast_ref() {
        // It does not name this as its source.
        Some(StreamableHttpError::Client(error)) => http::root_cause(error),
        _ => last.to_string(),
    }
}
