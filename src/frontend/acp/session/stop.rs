//! Maps the end of a turn to the protocol's stop reasons.

use agent_client_protocol_schema::v1::{Error, StopReason};

use crate::acp::error;
use base::protocol::event::{EndReason, FailureCause};

/// The client's stop reason or error, plus anything else the user should know.
pub fn of(reason: &EndReason) -> (Result<StopReason, Error>, Option<String>) {
    let failed = |message: &str, hint: &str| {
        let hint = if hint.is_empty() { String::new() } else { format!("; {hint}") };
        format!("{message}{hint}")
    };
    match reason {
        EndReason::Done => (Ok(StopReason::EndTurn), None),
        EndReason::Interrupted { .. } => (Ok(StopReason::Cancelled), None),
        EndReason::StepLimit { .. } => (Ok(StopReason::MaxTurnRequests), None),
        EndReason::Failed { message, hint, cause, .. } => {
            let why = failed(message, hint);
            match cause {
                FailureCause::OutputLimit => (Ok(StopReason::MaxTokens), Some(why)),
                FailureCause::Refused => (Ok(StopReason::Refusal), Some(why)),
                FailureCause::Other => (Err(error::failed(why)), None),
            }
        }
        // ACP has no composer, so a prompt is only returned when a filter refused it.
        EndReason::ProviderFailed { message, hint, prompt_returned: Some(_) } => {
            (Ok(StopReason::Refusal), Some(failed(message, hint)))
        }
        EndReason::ProviderFailed { message, hint, .. } => (Err(error::failed(failed(message, hint))), None),
    }
}
