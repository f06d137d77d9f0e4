//! The Task tool's request to a sub-agent, and the report. Plain data.

use std::sync::Arc;

use base::config::settings::ContextSettings;
use base::model::request::Params;
use base::model::usage::Usage;
use base::protocol::event::EndReason;

#[derive(Clone, Debug, Default)]
pub struct SubTask {
    pub kind: String,
    pub prompt: String,
    /// Whether to use the light model; `None` if the type decides.
    pub light: Option<bool>,
    pub resume: Option<String>,
    pub own_tree: bool,
    /// Its caller continues in the meantime, so it must not change the caller's files.
    pub background: bool,
    /// Limits for steps and tokens, if lower than the type's.
    pub at_most: Option<(u32, u64)>,
}

#[derive(Clone, Debug)]
pub struct ParentTurn {
    pub params: Params,
    pub settings: ContextSettings,
    pub session: String,
}

#[derive(Clone, Debug)]
pub struct SubReport {
    /// The id of its session, for Recall and `mycode resume`.
    pub id: String,
    pub answer: String,
    pub end: EndReason,
    pub steps: u32,
    pub model: Arc<str>,
    pub window_tokens: u64,
    pub usage: Usage,
    /// Files it read, with the ids of the items that contain them.
    pub read: Vec<(String, u64)>,
    pub changed: Vec<String>,
    /// Where the changes in its own worktree are, as a sentence; empty without changes.
    pub left: String,
    /// It ran a check of the project, now or in an earlier run.
    pub checked: bool,
    pub failed_check: Option<String>,
}

impl SubReport {
    /// Why it ended early, in a few words; `None` if it finished.
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
