//! The lines of a session log, versioned. Plain data; reading and writing are in `reader` and `log`.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use base::model::call::ToolSpec;
use base::model::fingerprint::Fingerprint;
use base::model::item::{Item, ItemId, Summary};
use base::model::request::Params;
use base::model::usage::Usage;
use base::protocol::event::TurnEnd;
use base::protocol::ledger::EpochCause;

/// Version of the line format that this program writes.
pub const VERSION: u32 = 1;

/// One line. Kinds that this version does not know are skipped by the reader, so newer logs still open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// The first line.
    Meta(Meta),
    /// A message, a call or a result.
    Item(ItemRecord),
    /// From here on these items are sent in another form; the cause is for users.
    Forms {
        items: Vec<ItemId>,
        form: FormName,
        cause: String,
        /// What is sent of each item, where that depends on more than the item: the same log must give the same bytes.
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
    /// The last archive that stands is taken back: its entries return in the form that they had.
    Unarchive {},
    /// A model was asked beside the session (for a summary).
    Beside { ms: u64, model: String, usage: Usage },
    /// Items from `to` on are void: they stay in the log but leave the history.
    Rewind { to: ItemId },
    /// The history is again what it was before this rewind or revival, both counted from 0 in the order of the log.
    Revive { rewind: u32 },
    /// A request was answered.
    Request(RequestRecord),
    /// A turn ended.
    TurnEnd {
        ms: u64,
        end: TurnEnd,
        /// How many have ended with this one; 0 in logs of older versions.
        #[serde(default, skip_serializing_if = "is_zero")]
        turn: usize,
    },
    /// Another model answers from here on: the user chose it.
    Model { provider: String, model: String },
    /// These items keep their form through compaction from here on, or no longer.
    Pin { items: Vec<ItemId>, pinned: bool },
    /// What is sent beside the items changed.
    Frame(FrameRecord),
    /// A request goes out, made of what stands above.
    Sent(SentRecord),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    pub version: u32,
    pub id: String,
    /// Absolute path of the workspace.
    pub workspace: String,
    /// Milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// Version of the program.
    pub app: String,
    /// What a sub-agent works for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentCall>,
    /// Where it was begun, if not here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionOrigin>,
}

/// A session of another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOrigin {
    /// Such as `claude`.
    pub agent: String,
    pub session: String,
}

/// The call of another session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentCall {
    pub session: String,
    pub call_id: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ItemRecord {
    pub id: ItemId,
    pub ms: u64,
    /// Estimated size in full form, so that resuming a long session counts nothing again.
    pub tokens: u32,
    pub item: Arc<Item>,
}

/// How an item is sent; later ones are smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormName {
    Full,
    /// Freed of noise, or told as a difference to what is in view; chosen when the item arrived.
    Filtered,
    /// The history form of SPEC §3.
    Compressed,
    /// Only some lines of it; made before digests kept lines, and still in logs.
    Masked,
    Pointer,
    /// Stands for itself and for the items behind it that are gone: one digest of several steps.
    Folded,
    /// Nothing of it is sent by itself; a digest in front of it stands for it.
    Gone,
}

impl FormName {
    /// The word that users see.
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
    /// What the request was taken for, in tokens.
    pub estimated: u64,
    /// What of that the model's own tokenizer has counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub counted: u64,
    /// What the server reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// What of the request's fixed parts changed; the rest is as before. The first one of a session holds everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrameRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Arc<[ToolSpec]>>,
    /// The project's rules as sent; empty when there are none any more.
    #[serde(rename = "law", skip_serializing_if = "Option::is_none")]
    pub rules: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Params>,
}

/// The account of a request that went out: what it was, and what of the one before it changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentRecord {
    pub ms: u64,
    /// Of the whole request: system, tools, parameters, messages.
    pub hash: Fingerprint,
    /// Estimated size in tokens, uncalibrated.
    pub estimated: u64,
    /// How many messages it has in common with the beginning of the request before.
    pub kept: usize,
    /// Of the messages behind those.
    pub messages: Vec<Fingerprint>,
    /// `None` when this request is the one before with messages appended.
    #[serde(default, rename = "broken", skip_serializing_if = "Option::is_none")]
    pub epoch: Option<EpochRecord>,
}

fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

/// The beginning of an epoch: something that was sent before is sent no more, or differently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochRecord {
    /// The first message that changed; 0 also when what stands before the messages did.
    pub at: usize,
    /// Estimated tokens that had been sent before and must be read anew.
    pub tokens_lost: u64,
    /// Estimated tokens by which each request is smaller from here on.
    #[serde(default)]
    pub tokens_saved: u64,
    /// Blocks of reasoning that were left out, because they were bound to what changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// The prompt cache had run out: nothing was lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    pub causes: Vec<CauseRecord>,
}

/// Why an epoch began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseRecord {
    pub kind: EpochCause,
    /// In words, with the figures of the decision where there was one.
    pub reason: String,
}
