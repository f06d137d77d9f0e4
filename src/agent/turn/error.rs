//! What ends a turn early, in words for the user.

use crate::agent::window::fit::FitError;
use crate::provider::api::ProviderError;
use crate::session::log::LogError;

/// What ends a turn early.
pub enum TurnError {
    Interrupted,
    Provider {
        error: ProviderError,
        /// How often it was tried.
        tries: u32,
    },
    /// The answer filled the window to its end.
    NoRoom,
    /// The model said nothing.
    Unanswered {
        message: String,
        hint: String,
        /// It is the message that the server did not want to answer.
        refused: bool,
    },
    Failed {
        message: String,
        hint: String,
    },
}

impl TurnError {
    /// The answer ended at the output limit: what was said stays, the task is not done.
    pub fn cut() -> Self {
        Self::Failed {
            message: "the answer was cut at the model's output limit".to_owned(),
            hint: "say \"go on\" to continue, or raise max_output_tokens".to_owned(),
        }
    }

    /// The model had nothing to say, repeatedly.
    pub fn empty() -> Self {
        Self::Unanswered {
            message: "the model answered with nothing".to_owned(),
            hint: "ask again or say more; if it happens often, try another model".to_owned(),
            refused: false,
        }
    }

    /// The output limit was reached before anything was said.
    pub fn only_thought() -> Self {
        Self::Unanswered {
            message: "the model reached its output limit before it said anything".to_owned(),
            hint: "raise max_output_tokens or lower reasoning_effort (thinking counts as output), then send the \
                   message again"
                .to_owned(),
            refused: false,
        }
    }

    /// A filter of the server ended the answer.
    pub fn filtered(said_something: bool) -> Self {
        let message = "the server's content filter ended the answer".to_owned();
        let hint = "say it in other words, or use another model".to_owned();
        if said_something {
            Self::Failed { message, hint }
        } else {
            Self::Unanswered { message, hint, refused: true }
        }
    }

    /// The request does not fit, whatever is done.
    pub fn full(message: String) -> Self {
        Self::Provider { error: ProviderError::ContextFull { message }, tries: 1 }
    }
}

impl From<LogError> for TurnError {
    fn from(error: LogError) -> Self {
        Self::Failed {
            message: error.to_string(),
            hint: "free some disk space or make the state folder writable, then send the message again"
                .to_owned(),
        }
    }
}

impl From<FitError> for TurnError {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Log(error) => error.into(),
            FitError::TooSmall { needed, window, rules } => Self::Failed {
                message: format!(
                    "the smallest request that can be made takes up to {needed} tokens ({rules} of them the rules \
                     files), and the window has {window}"
                ),
                hint: "set a larger context_window, shorten the rules files, or unpin what /context shows as pinned"
                    .to_owned(),
            },
        }
    }
}
