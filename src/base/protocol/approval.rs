//! Questions that the agent asks during a turn, and the answers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::settings::Permission;

/// Unique within a session, so that a late answer can't match another question.
pub type QuestionId = u64;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Question {
    /// May this call run?
    Approval(ApprovalRequest),
    /// The AskUser tool.
    Ask { questions: Vec<AskedQuestion> },
    /// May this plan be carried out?
    Plan(PlanRequest),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRequest {
    /// Relative to the workspace; the user may edit it before accepting.
    pub path: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    pub call_id: String,
    pub tool: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub args: String,
    /// One line such as `Edit src/a.rs` or the command itself.
    pub title: String,
    /// Exactly what will run or change: the command, or a unified diff.
    pub detail: String,
    pub is_diff: bool,
    pub reason: String,
    /// What "always" would allow in this project, such as `cargo test`; `None` if nothing general is safe.
    pub always_prefix: Option<String>,
    /// What "for this session" would allow, such as `reading /etc/hosts`; `None` if only this call.
    #[serde(default)]
    pub session_scope: Option<String>,
    /// What is known about each program of a command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedQuestion {
    pub question: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// How the error of a call begins that no permission level allows: by a rule of a file, by a flag.
pub const FORBIDDEN: [&str; 2] = ["a rule forbids it", "the user denied it for this run"];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    /// This call only.
    Once,
    /// This call only, with these arguments.
    Changed { args: Value },
    /// Everything of this kind for the rest of the session.
    Session,
    /// The offered prefix, from now on in this project.
    Always,
    /// The note is for the model.
    No { note: String },
    /// Carry out the plan at this permission level.
    Accept { permission: Permission },
    /// One per question of an `Ask`.
    Replies { replies: Vec<String> },
}

impl Answer {
    pub fn no() -> Self {
        Self::No { note: String::new() }
    }
}

/// Shown to the user for a refused call; the model gets more.
pub fn denied(note: &str) -> String {
    if note.is_empty() { "Denied".to_owned() } else { format!("Denied: {note}") }
}
