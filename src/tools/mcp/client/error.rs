//! Why a server request failed, in one type for all transports.

use std::time::Duration;

use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use thiserror::Error;

use provider::wire::http;

#[derive(Debug, Error)]
pub enum McpError {
    #[error("{0}")]
    Start(String),
    #[error("{}", failed.as_deref().map_or_else(|| "it requires you to sign in".to_owned(), |why| format!("signing in failed: {why}")))]
    SignIn { challenge: String, failed: Option<String> },
    #[error("{0}")]
    Refused(String),
    #[error("its answer is not valid in the protocol")]
    Invalid,
    #[error("the connection was lost: {0}")]
    Lost(String),
    #[error("no response for {} s{}", .0.as_secs(), .1)]
    Timeout(Duration, String),
    #[error("no response for {} s, not even to a ping, so it was stopped; the next call starts it again{}", .0.as_secs(), .1)]
    Hung(Duration, String),
    #[error("it is turned off in this session")]
    Off,
    #[error("interrupted")]
    Cancelled,
}

impl McpError {
    /// `None` if the server doesn't ask for a sign-in.
    pub fn sign_in(challenge: Option<&str>, required: bool) -> Option<Self> {
        let challenge = challenge.or(required.then_some(""))?.to_owned();
        Some(Self::SignIn { challenge, failed: None })
    }
}

impl From<ServiceError> for McpError {
    fn from(error: ServiceError) -> Self {
        if let Some(sign_in) = Self::sign_in(error.auth_challenge(), error.is_authorization_required()) {
            return sign_in;
        }
        match error {
            ServiceError::McpError(said) => Self::Refused(said.message.into_owned()),
            ServiceError::UnexpectedResponse => Self::Invalid,
            error => Self::Lost(root_cause(&error)),
        }
    }
}

/// The innermost cause, because outer ones only repeat it.
pub fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let last = std::iter::successors(Some(error), |error| error.source()).last().unwrap_or(error);
    match last.downcast_ref() {
        // `source()` doesn't include this error.
        Some(StreamableHttpError::Client(error)) => http::root_cause(error),
        _ => last.to_string(),
    }
}
