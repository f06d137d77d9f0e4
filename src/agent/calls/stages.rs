//! The states of a call in the dispatcher.

use std::sync::Arc;

use super::policy_engine::AssessedToolCall;
use crate::hooks::tool_hooks::Hooked;
use base::model::call::ToolCall;
use base::model::envelope::Envelope;
use tools::api::Prepared;

pub struct CallQueue<'c> {
    pub rest: &'c [Arc<ToolCall>],
    pub carried: Option<GroupedCall>,
    pub alone: bool,
}

pub struct GroupedCall {
    pub call: Arc<ToolCall>,
    pub parallel: bool,
    /// For commands.
    pub assessed: Option<AssessedToolCall>,
    /// The user's answer, if asked while earlier calls ran.
    pub admitted: Option<Admission>,
}

impl GroupedCall {
    pub fn new(call: Arc<ToolCall>, parallel: bool) -> Self {
        Self { call, parallel, assessed: None, admitted: None }
    }
}

pub type Admission = Result<AdmittedCall, Box<Envelope>>;

pub struct AdmittedCall {
    pub prepared: Box<dyn Prepared>,
    /// The title, if the call's program may change any file.
    pub command: Option<String>,
    pub assessed: AssessedToolCall,
    pub consent: Consent,
    pub hooked: Option<Hooked>,
}

/// A parsed call, after the user's PreToolUse hooks.
pub struct OpenedCall {
    pub call: ToolCall,
    pub prepared: Box<dyn Prepared>,
    pub hooked: Option<Hooked>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Consent {
    /// Allowed by the level and the rules.
    Rules,
    Asked,
    Own,
}
