//! The work in progress of an open session: one client request at a time, and the agent's open questions.

use agent_client_protocol_schema::v1::{RequestId, StopReason, ToolCallUpdate};

use super::slash::EndsWith;
use crate::acp::prompt::Input;

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
