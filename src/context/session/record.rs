//! The lines of a session log, versioned. Plain data; see `reader` and `log` for I/O.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use base::model::call::ToolSpec;
use base::model::fingerprint::Fingerprint;
use base::model::item::{Item, ItemId, Summary};
use base::model::request::Params;
use base::model::usage::Usage;
use base::protocol::event::TurnEnd;
use base::protocol::ledger::EpochCause;

pub const VERSION: u32 = 1;

/// One line. The reader skips unknown kinds, so newer logs still open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    Meta(Meta),
    Item(ItemRecord),
    /// From here on these items are sent in another form; the cause is for users.
    Forms {
        items: Vec<ItemId>,
        form: FormName,
        cause: String,
        /// Texts sent that depend on more than the item: the same log must give the same bytes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        texts: Vec<Arc<str>>,
    },
    /// Everything before `before` is replaced by the summary.
    Archive {
        before: ItemId,
        /// The number of the summary itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<ItemId>,
        summary: Summary,
        cause: String,
    },
    /// Undoes the last archive: its entries return in their previous form.
    Unarchive {},
    /// A model was asked outside the session (for a summary).
    Beside {
        ms: u64,
        model: String,
        usage: Usage,
    },
    /// Items from `to` on are void: they stay in the log but leave the history.
    Rewind {
        to: ItemId,
    },
    /// Restores the history from before this rewind or revival (counted together from 0, in log order).
    Revive {
        rewind: u32,
    },
    Request(RequestRecord),
    TurnEnd {
        ms: u64,
        end: TurnEnd,
        /// Number of turns ended, including this one; 0 in older logs.
        #[serde(default, skip_serializing_if = "is_zero")]
        turn: usize,
    },
    /// The user chose another model from here on.
    Model {
        provider: String,
        model: String,
    },
    /// From here on these items keep their form through compaction, or no longer do.
    Pin {
        items: Vec<ItemId>,
        pinned: bool,
    },
    /// What is sent outside the items changed.
    Frame(FrameRecord),
    /// A request goes out, made of what is above.
    Sent(SentRecord),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    pub version: u32,
    pub id: String,
    pub workspace: String,
    pub created_ms: u64,
    pub app: String,
    /// For a sub-agent: the call it works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionOrigin>,
}

/// The session of another agent that this one continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOrigin {
    pub agent: String,
    pub session: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentCall {
    pub session: String,
    pub call_id: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemRecord {
    pub id: ItemId,
    pub ms: u64,
    /// Estimated size in full form, so that a resume needn't count again.
    pub tokens: u32,
    pub item: Arc<Item>,
}

/// How an item is sent; later variants are smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormName {
    Full,
    /// Filtered for noise, or a diff against what is in view; chosen when the item arrived.
    Filtered,
    Compressed,
    /// Only some of its lines; no longer made, but still in logs.
    Masked,
    Pointer,
    /// Represents itself and the following items that are gone: one digest of several steps.
    Folded,
    /// Nothing of it is sent separately; a preceding digest replaces it.
    Gone,
}

impl FormName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Filtered => "filtered",
            Self::Compressed => "compressed",
            Self::Masked => "masked",
            Self::Pointer => "pointer",
            Self::Folded => "folded",
            Self::Gone => "gone",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    pub ms: u64,
    pub model: String,
    pub estimated: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Changes to the request's fixed parts. The first one of a session has everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrameRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Arc<[ToolSpec]>>,
    /// Empty if there are none any more.
    #[serde(rename = "law", skip_serializing_if = "Option::is_none")]
    pub rules: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Params>,
}

/// The account of a sent request: what it was, and what changed since the previous one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentRecord {
    pub ms: u64,
    /// Of the full request: system, tools, parameters, messages.
    pub hash: Fingerprint,
    /// Tokens, uncalibrated.
    pub estimated: u64,
    /// Number of messages shared with the start of the previous request.
    pub kept: usize,
    pub messages: Vec<Fingerprint>,
    /// `None` if this request is the previous one with messages appended.
    #[serde(default, rename = "broken", skip_serializing_if = "Option::is_none")]
    pub epoch: Option<EpochRecord>,
}

fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

/// The start of an epoch: something sent before is now missing or different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// The first message that changed; also 0 if something before the messages did.
    pub at: usize,
    /// Estimated tokens that had been sent before and must be read uncached.
    pub tokens_lost: u64,
    /// Estimated tokens by which each later request is smaller.
    #[serde(default)]
    pub tokens_saved: u64,
    /// Reasoning blocks left out because they were bound to what changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// The prompt cache had expired, so nothing was lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    pub causes: Vec<CauseRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseRecord {
    pub kind: EpochCause,
    pub reason: String,
}
