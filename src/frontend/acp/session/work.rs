//! Commands of the client to an open session, which closes when no more can come, and its work in progress: one request at a time, and the agent's
//! open questions; and what its end is in the protocol.

use agent_client_protocol_schema::v1::{
    Error, RequestId, SetSessionConfigOptionRequest, SetSessionModeRequest, StopReason, ToolCallUpdate,
};

use super::slash::EndsWith;
use crate::acp::error;
use crate::acp::prompt::Input;
use base::protocol::event::{EndReason, FailureCause};

pub enum Command {
    Prompt { id: RequestId, input: Input },
    Cancel,
    CancelRequest(RequestId),
    SetMode { id: RequestId, request: SetSessionModeRequest },
    SetOption { id: RequestId, request: SetSessionConfigOptionRequest },
}

pub enum Busy {
    /// `turns` counts started turns, or messages about a compaction. `stop`: result unless the plan is run.
    Prompt {
        id: RequestId,
        ends: EndsWith,
        cancelled: bool,
        turns: usize,
        stop: Option<StopReason>,
    },
    Model {
        id: RequestId,
    },
}

pub enum Waiting {
    Prompt { id: RequestId, input: Input },
    Model { id: RequestId, model: String },
}

/// An open question. `ours`: its call was only created to show it.
pub struct Open {
    pub call: ToolCallUpdate,
    pub ours: bool,
    pub plan: bool,
}

/// The client's stop reason or error, plus anything else the user should know.
pub fn stop(reason: &EndReason) -> (Result<StopReason, Error>, Option<String>) {
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
                _ => (Err(error::failed(why)), None),
            }
        }
        // ACP has no composer, so a prompt is only returned when a filter refused it.
        EndReason::ProviderFailed { message, hint, prompt_returned: Some(_) } => {
            (Ok(StopReason::Refusal), Some(failed(message, hint)))
        }
        EndReason::ProviderFailed { message, hint, .. } => (Err(error::failed(failed(message, hint))), None),
    }
}
