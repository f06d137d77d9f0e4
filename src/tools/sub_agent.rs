//! What the Task tool asks of a sub-agent, and what comes back. Plain data.

use std::sync::Arc;

use base::config::settings::ContextSettings;
use base::model::request::Params;
use base::model::usage::Usage;
use base::protocol::event::EndReason;

/// What a sub-agent shall do.
#[derive(Clone, Debug, Default)]
pub struct SubTask {
    /// A type of `agent_types`, or one of the user's.
    pub kind: String,
    pub prompt: String,
    /// Whether the light model answers; `None`: as its type says.
    pub light: Option<bool>,
    /// An earlier sub-agent that goes on, by its id.
    pub resume: Option<String>,
}

/// The turn whose calls ask for sub-agents: they answer with its model and in its window.
#[derive(Clone, Debug)]
pub struct ParentTurn {
    pub params: Params,
    pub settings: ContextSettings,
    pub session: String,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct SubReport {
    /// Of its session, for Recall and `mycode resume`.
    pub id: String,
    /// Its last words; empty when it has said none.
    pub answer: String,
    pub end: EndReason,
    pub steps: u32,
    pub model: Arc<str>,
    /// What its window holds at the end.
    pub window_tokens: u64,
    /// Of all of its requests.
    pub usage: Usage,
    /// The files that it read, with the numbers of the items that hold them.
    pub read: Vec<(String, u64)>,
    pub changed: Vec<String>,
}

impl SubReport {
    /// Why it ended early, in a few words; `None` when it was done.
    pub fn ended_early(&self) -> Option<String> {
        match &self.end {
            EndReason::Done => None,
            EndReason::Interrupted { .. } => Some("interrupted".to_owned()),
            EndReason::StepLimit { limit } => Some(format!("stopped after {limit} steps")),
            EndReason::ProviderFailed { message, .. } | EndReason::Failed { message, .. } => {
                Some(message.clone())
            }
        }
    }
}
