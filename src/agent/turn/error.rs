//! What ends a turn early.

use crate::window::compactor::FitError;
use base::model::provider::ProviderError;
use base::protocol::event::FailureCause;
use base::protocol::notice::{self, Problem};
use context::session::log::LogError;

pub enum TurnError {
    Interrupted,
    Provider {
        error: ProviderError,
        tries: u32,
    },
    Unanswered {
        problem: Problem,
        /// `Refused` if the server objected to the message itself.
        cause: FailureCause,
    },
    Failed(Problem, FailureCause),
}

impl TurnError {
    pub fn empty() -> Self {
        Self::Unanswered { problem: notice::empty_reply(), cause: FailureCause::Empty }
    }

    /// The reply hit the output limit: its text stays, but the task isn't done.
    pub fn output_limit(said_something: bool) -> Self {
        if said_something {
            Self::Failed(notice::output_limit(), FailureCause::OutputLimit)
        } else {
            Self::Unanswered { problem: notice::only_reasoning(), cause: FailureCause::OutputLimit }
        }
    }

    /// The server's filter ended the reply, or the model declined (`refusal` says why).
    pub fn filtered(said_something: bool, refusal: Option<&str>) -> Self {
        let problem = refusal.map_or_else(notice::content_filter, notice::refused);
        let cause = FailureCause::Refused;
        if said_something { Self::Failed(problem, cause) } else { Self::Unanswered { problem, cause } }
    }

    pub fn context_full(message: impl Into<String>) -> Self {
        Self::Provider { error: ProviderError::ContextFull(message.into()), tries: 1 }
    }
}

/// How servers say that a filter stopped the message before the model saw it; lowercase.
const FILTER_WORDS: &str = include_str!("filter_words.txt");

/// Whether every later request with the message would fail too. Credit, address, model and settings don't count.
pub fn is_filtered(error: &ProviderError) -> bool {
    let ProviderError::BadRequest { status, message } = error else { return false };
    let message = message.to_lowercase();
    matches!(status, 400 | 403 | 422) && FILTER_WORDS.lines().any(|word| message.contains(word))
}

impl From<LogError> for TurnError {
    fn from(error: LogError) -> Self {
        Self::Failed(notice::log_write_failed(error), FailureCause::Other)
    }
}

impl From<FitError> for TurnError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Interrupted => Self::Interrupted,
            FitError::Log(error) => error.into(),
            FitError::TooSmall { needed, window, rules } => {
                Self::Failed(notice::request_too_large(needed, window, rules), FailureCause::Other)
            }
        }
    }
}
