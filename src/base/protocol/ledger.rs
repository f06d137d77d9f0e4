//! What a front end may know of the window's account: the rows, the epochs, the history of one item,
//! and what the user can do to an item. Plain data.

use serde::{Deserialize, Serialize};

use crate::model::item::ItemId;
use crate::text::{human_tokens, plural};

/// One row of the ledger, in the form the screen shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// `#12` for items, a word such as `system` for fixed parts.
    pub id: String,
    /// `L1` … `L6`.
    pub layer: String,
    /// Where it came from: `Read src/a.rs:1-40`, `user`, `system prompt`.
    pub origin: String,
    pub tokens: u64,
    /// `full`, `filtered`, `compressed`, `masked`, `pointer`, `folded`.
    pub form: String,
    pub pinned: bool,
}

/// What the next request holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedgerView {
    pub rows: Vec<LedgerRow>,
    /// The sum of the rows.
    pub total_tokens: u64,
    pub window_tokens: u64,
    /// Where the window's size came from: `user`, `table`, `server`, `default`.
    pub window_origin: String,
    /// How far the figures may be off, in percent up or down.
    pub error_percent: f64,
    pub epochs: Epochs,
    /// The sub-agents whose results are in the history.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentSum>,
}

/// What a sub-agent took, and what came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentSum {
    /// Its session.
    pub id: String,
    pub kind: String,
    pub steps: u64,
    /// Read and written in all of its requests.
    pub tokens: u64,
    /// `None` when its model's price is unknown.
    pub cost_usd: Option<f64>,
    /// What it held in its own window at the end.
    pub held_tokens: u64,
    /// What this session holds of it.
    pub result_tokens: u64,
}

/// The sub-agents in one line; `None` without any.
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

/// The epochs of a session: in each of them every request is the one before with messages appended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Epochs {
    /// Requests in the present one.
    pub requests: u64,
    /// Those after the first one, by cause.
    pub by_cause: Vec<EpochSum>,
}

/// Why an epoch began: the bytes of an earlier request changed. There are no other reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpochCause {
    /// A batch of smaller forms was adopted because that pays.
    TurnEndCompression,
    /// The window, or the soft cap, demanded it.
    Compaction,
    RulesChanged,
    ToolsChanged,
    /// The user dropped or restored an item.
    UserEdit,
    Rewind,
    ModelSwitch,
    /// The server rejected reasoning that it had made.
    ReasoningRejected,
}

impl EpochCause {
    /// The words that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnEndCompression => "turn-end compression",
            Self::Compaction => "compaction",
            Self::RulesChanged => "rules changed",
            Self::ToolsChanged => "tools changed",
            Self::UserEdit => "user drop/restore",
            Self::Rewind => "rewind",
            Self::ModelSwitch => "model switch",
            Self::ReasoningRejected => "reasoning rejected",
        }
    }
}

/// The epochs that began for one cause. One with several causes counts under the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpochSum {
    pub cause: EpochCause,
    pub count: u64,
    /// Tokens that had been sent before and had to be read anew.
    pub tokens_lost: u64,
    /// Tokens that each following request was smaller by.
    pub tokens_saved: u64,
    /// Blocks of reasoning that were left out.
    pub reasoning: u64,
}

/// What the user can do to an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextEdit {
    /// Keep it as it is through compaction.
    Pin,
    Unpin,
    /// Send one line that stands for it.
    Drop,
    /// Send it whole again, and keep it so.
    Restore,
}

impl ContextEdit {
    /// The word that is typed and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pin => "pin",
            Self::Unpin => "unpin",
            Self::Drop => "drop",
            Self::Restore => "restore",
        }
    }
}

/// Where one item came from and what was done to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemHistory {
    /// As in the ledger.
    pub id: String,
    pub origin: String,
    /// When it arrived, milliseconds since the Unix epoch; `None` for a fixed part.
    pub arrived_ms: Option<u64>,
    /// Estimated tokens in full form, and as it is sent now (0: not by itself), uncalibrated.
    pub full_tokens: u64,
    pub tokens: u64,
    pub form: String,
    pub pinned: bool,
    /// What was done to it, oldest first.
    #[serde(rename = "deeds")]
    pub events: Vec<ItemEvent>,
    /// How to get at the original.
    pub recall: String,
}

/// One thing that was done to an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemEvent {
    /// How many requests had been sent before.
    pub after_requests: u64,
    /// Such as `masked`, or `pinned`.
    pub what: String,
    /// Why, with the figures of the decision where there was one.
    pub cause: String,
}

/// The id that `text` names: `12` or `#12`.
pub fn item_id(text: &str) -> Option<ItemId> {
    text.trim().trim_start_matches('#').parse().ok().map(ItemId)
}
