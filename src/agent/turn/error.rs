//! What ends a turn early.

use crate::window::compactor::FitError;
use crate::window::context_window::WindowError;
use base::model::provider::ProviderError;
use base::protocol::event::FailureCause;
use base::protocol::notice::{self, Problem};
use context::session::log::LogError;

/// What ends a turn early.
pub enum TurnError {
    Interrupted,
    Provider {
        error: ProviderError,
        /// How often it was tried.
        tries: u32,
    },
    /// The reply filled the window to its end.
    NoRoom,
    /// The model said nothing.
    Unanswered {
        problem: Problem,
        /// Refused: it is the message that the server did not want to answer.
        cause: FailureCause,
    },
    Failed(Problem, FailureCause),
    /// A hook of the user's did not let the message pass: it was never part of the session.
    Blocked(Problem),
}

impl TurnError {
    /// The model replied with nothing, repeatedly.
    pub fn empty() -> Self {
        Self::Unanswered { problem: notice::empty_reply(), cause: FailureCause::Other }
    }

    /// The reply ended at the output limit: what was said stays, the task is not done.
    pub fn output_limit(said_something: bool) -> Self {
        if said_something {
            Self::Failed(notice::output_limit(), FailureCause::OutputLimit)
        } else {
            Self::Unanswered { problem: notice::only_reasoning(), cause: FailureCause::OutputLimit }
        }
    }

    /// A filter of the server ended the reply, or the model declined: `refusal` says why.
    pub fn filtered(said_something: bool, refusal: Option<&str>) -> Self {
        let problem = refusal.map_or_else(notice::content_filter, notice::refused);
        let cause = FailureCause::Refused;
        if said_something { Self::Failed(problem, cause) } else { Self::Unanswered { problem, cause } }
    }

    /// The request does not fit, whatever is done.
    pub fn context_full(message: String) -> Self {
        Self::Provider { error: ProviderError::ContextFull { message }, tries: 1 }
    }
}

/// How servers say that a filter has stopped the message before the model saw it. In lower case.
const FILTER_WORDS: [&str; 7] = [
    // Azure.
    "content_filter",
    "content management policy",
    // OpenAI.
    "content_policy_violation",
    "invalid_prompt",
    "flagged as potentially violating",
    // OpenRouter, Alibaba.
    "requires moderation",
    "inappropriate content",
];

/// Whether it is the message itself that the server refused, so that every later request with it in the history would fail
/// as well. Money that is lacking, a wrong address or model and a setting that isn't known go away without it.
pub fn is_filtered(error: &ProviderError) -> bool {
    let ProviderError::BadRequest { status, message } = error else { return false };
    let message = message.to_lowercase();
    matches!(status, 400 | 403 | 422) && FILTER_WORDS.iter().any(|word| message.contains(word))
}

impl From<LogError> for TurnError {
    fn from(error: LogError) -> Self {
        Self::Failed(notice::log_write_failed(error), FailureCause::Other)
    }
}

impl From<WindowError> for TurnError {
    fn from(error: WindowError) -> Self {
        match error {
            WindowError::Fit(error) => error.into(),
            WindowError::Interrupted => Self::Interrupted,
        }
    }
}

impl From<FitError> for TurnError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Log(error) => error.into(),
            FitError::TooSmall { needed, window, rules } => {
                Self::Failed(notice::request_too_large(needed, window, rules), FailureCause::Other)
            }
        }
    }
}
