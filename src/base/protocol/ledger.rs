//! The window's ledger for front ends: rows, epochs, the history of an item, and the user's edits.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::model::item::ItemId;
use crate::text::{human_tokens, plural};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// `#12` for items, a word such as `system` for fixed parts.
    pub id: String,
    pub layer: String,
    /// Such as `Read src/a.rs:1-40`, `user`, `system prompt`.
    pub origin: String,
    pub tokens: u64,
    /// `full`, `filtered`, `compressed`, `masked`, `pointer`, `folded`.
    pub form: String,
    pub pinned: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerView {
    pub rows: Vec<LedgerRow>,
    pub total_tokens: u64,
    pub window_tokens: u64,
    /// Where the window's size comes from: `user`, `table`, `server`, `default`.
    pub window_origin: String,
    /// Possible error of the figures, in percent up or down.
    pub error_percent: f64,
    pub epochs: Epochs,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSum>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSum {
    pub id: String,
    pub kind: String,
    pub steps: u64,
    /// Input and output of all its requests.
    pub tokens: u64,
    pub cost_usd: Option<f64>,
    /// Size of its own window at the end.
    pub held_tokens: u64,
    /// Size of its report in this session.
    pub result_tokens: u64,
}

pub fn agents_line(agents: &[AgentSum]) -> Option<String> {
    let sum = |tokens: fn(&AgentSum) -> u64| human_tokens(agents.iter().map(tokens).sum());
    let cost: Option<f64> = agents.iter().map(|agent| agent.cost_usd).sum();
    let cost = cost.map_or(String::new(), |cost| format!(", ${cost:.2}"));
    (!agents.is_empty()).then(|| {
        format!(
            "{}: {} tokens spent{cost}; {} in their windows, {} in this one",
            plural(agents.len(), "sub-agent"),
            sum(|agent| agent.tokens),
            sum(|agent| agent.held_tokens),
            sum(|agent| agent.result_tokens)
        )
    })
}

/// In an epoch, every request is the previous one with messages appended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epochs {
    pub requests: u64,
    /// Without the first epoch.
    pub by_cause: Vec<EpochSum>,
}

/// Why an epoch began, i.e. why bytes of an earlier request changed. The list is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum EpochCause {
    /// A batch of smaller forms was adopted because it pays.
    #[strum(to_string = "turn-end compression")]
    TurnEndCompression,
    /// Required by the window or the soft cap.
    Compaction,
    #[strum(to_string = "front end changed")]
    FrontEndChanged,
    #[strum(to_string = "rules changed")]
    RulesChanged,
    #[strum(to_string = "tools changed")]
    ToolsChanged,
    #[strum(to_string = "user drop/restore")]
    UserEdit,
    Rewind,
    #[strum(to_string = "model switch")]
    ModelSwitch,
    #[strum(to_string = "reasoning rejected")]
    ReasoningRejected,
}

/// An epoch with several causes counts under the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochSum {
    pub cause: EpochCause,
    pub count: u64,
    /// Tokens that were sent before and had to be read uncached.
    pub tokens_lost: u64,
    /// Tokens by which each following request was smaller.
    pub tokens_saved: u64,
    pub reasoning: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum ContextEdit {
    Pin,
    Unpin,
    Drop,
    /// Send it in full again, and keep it so.
    Restore,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemHistory {
    pub id: String,
    pub origin: String,
    /// Milliseconds since the Unix epoch; `None` for a fixed part.
    pub arrived_ms: Option<u64>,
    /// Estimated tokens in full form, and as sent now (0: not on its own), uncalibrated.
    pub full_tokens: u64,
    pub tokens: u64,
    pub form: String,
    pub pinned: bool,
    #[serde(rename = "deeds")]
    pub events: Vec<ItemEvent>,
    pub recall: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemEvent {
    pub after_requests: u64,
    pub what: String,
    pub cause: String,
}

pub fn item_id(text: &str) -> Option<ItemId> {
    text.trim().trim_start_matches('#').parse().ok().map(ItemId)
}
