//! What an open session works on: for the client, one thing at a time; for the agent, its open questions.

use agent_client_protocol_schema::v1::{RequestId, StopReason, ToolCallUpdate};

use super::slash::EndsWith;
use crate::acp::prompt::Input;

/// What the client waits for.
pub enum Busy {
    /// `turns` counts those that began, or what was said of a compaction; `stop` is how it ends unless its plan is carried out.
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

/// What waits for its turn.
pub enum Waiting {
    Prompt { id: RequestId, input: Input },
    Model { id: RequestId, model: String },
}

/// An open question, and whether its call was shown for its sake.
pub struct Open {
    pub call: ToolCallUpdate,
    pub ours: bool,
    /// Whether it is about a plan.
    pub plan: bool,
}
