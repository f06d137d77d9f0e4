//! What the client wants of an open session.

use agent_client_protocol_schema::v1::{RequestId, SetSessionConfigOptionRequest, SetSessionModeRequest};

use crate::acp::prompt::Input;

/// One thing.
pub enum Command {
    Prompt {
        id: RequestId,
        input: Input,
    },
    /// Stop what runs and what waits.
    Cancel,
    /// Stop what runs, if it is this request.
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
