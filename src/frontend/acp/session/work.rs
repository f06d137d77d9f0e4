//! Commands of the client to an open session, and its work in progress: one request at a time, and the agent's
//! open questions.

use agent_client_protocol_schema::v1::{
    RequestId, SetSessionConfigOptionRequest, SetSessionModeRequest, StopReason, ToolCallUpdate,
};

use super::slash::EndsWith;
use crate::acp::prompt::Input;

pub enum Command {
    Prompt {
        id: RequestId,
        input: Input,
    },
    /// Stop everything running and waiting.
    Cancel,
    /// Stop the running request, if it's this one.
    CancelRequest(RequestId),
    SetMode {
        id: RequestId,
        request: SetSessionModeRequest,
    },
    SetOption {
        id: RequestId,
        request: SetSessionConfigOptionRequest,
    },
    Close,
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
