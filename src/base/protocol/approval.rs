//! Questions that the agent asks while a turn runs, and the answers. Plain data.

use serde::{Deserialize, Serialize};

use crate::config::settings::Permission;

/// Numbers a question within a session, so that a late answer cannot answer another question.
pub type QuestionId = u64;

/// A question to the user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Question {
    /// May this call run?
    Approval(ApprovalRequest),
    /// The model asks the user (the AskUser tool).
    Ask { questions: Vec<AskedQuestion> },
    /// Shall this plan be carried out?
    Plan(PlanRequest),
}

/// A plan that a turn in plan mode ended with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanRequest {
    /// Its file, relative to the workspace; the user may edit it before they accept.
    pub path: String,
    /// Markdown.
    pub text: String,
}

/// A call that needs the user's consent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    pub call_id: String,
    pub tool: String,
    /// One line: what will happen, such as `Edit src/a.rs` or the command itself.
    pub title: String,
    /// Exactly what will run or change: the command, or a unified diff.
    pub detail: String,
    /// Whether `detail` is a unified diff.
    pub is_diff: bool,
    /// Why it is asked.
    pub reason: String,
    /// What "always" would allow from now on in this project, such as `cargo test`; `None` when there is no safe
    /// generalisation.
    pub always_prefix: Option<String>,
    /// What "for this session" would open, such as `reading /etc/hosts`; `None` when a yes holds for this call only.
    #[serde(default)]
    pub session_scope: Option<String>,
    /// The sub-agent that wants it; `None` when it is the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

/// One question of the AskUser tool, or of an MCP server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedQuestion {
    pub question: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// No answer is one, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// The user's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    /// This once.
    Once,
    /// Everything of this kind for the rest of the session.
    Session,
    /// The offered prefix, from now on in this project.
    Always,
    /// No; the note goes to the model.
    No { note: String },
    /// Carry the plan out, at this permission level.
    Accept { permission: Permission },
    /// Answers to an `Ask`, one for each question.
    Replies { replies: Vec<String> },
}

/// What the user sees of a call that they refused; the model is told more.
pub fn denied(note: &str) -> String {
    if note.is_empty() { "Denied".to_owned() } else { format!("Denied: {note}") }
}
