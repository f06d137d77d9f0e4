//! Commands of the client to an open session.

use agent_client_protocol_schema::v1::{RequestId, SetSessionConfigOptionRequest, SetSessionModeRequest};

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
