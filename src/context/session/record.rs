//! The lines of a session log, versioned. Plain data; see `reader` and `log` for I/O.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use base::model::call::ToolSpec;
use base::model::fingerprint::Fingerprint;
use base::model::item::{Item, ItemId, Summary};
use base::model::request::Params;
use base::model::usage::Usage;
use base::protocol::event::TurnEnd;
use base::protocol::goal::Goal;
use base::protocol::ledger::EpochCause;

pub const VERSION: u32 = 1;

/// One line of a log. The reader skips unknown kinds, so newer logs can still be opened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    Meta(Meta),
    Item(ItemRecord),
    /// These items are sent in another form from here on.
    Forms(Batch),
    /// Everything before `before` is replaced by the summary.
    Archive {
        before: ItemId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<ItemId>,
        summary: Summary,
        cause: Cause,
    },
    /// Undoes the last archive: its entries return in their previous form.
    Unarchive {},
    /// A model was asked outside the session, for example for a summary.
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
        #[serde(default, skip_serializing_if = "is_zero")]
        turn: usize,
        /// Of the session so far, where known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost_usd: Option<f64>,
    },
    /// The goal from item `at` on; `None` clears it.
    Goal {
        at: ItemId,
        goal: Option<Goal>,
    },
    Model {
        provider: String,
        model: String,
    },
    /// These items keep their form through compaction, or no longer do.
    Pin {
        items: Vec<ItemId>,
        pinned: bool,
    },
    Frame(FrameRecord),
    Sent(SentRecord),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    pub version: u32,
    pub id: String,
    pub workspace: String,
    pub created_ms: u64,
    pub app: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionOrigin>,
    #[serde(flatten)]
    pub begun: BegunWith,
    /// A review; `--continue` skips it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub review: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headless: bool,
}

/// Options that a session keeps when it is continued.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BegunWith {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// As written with `--deny`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<String>,
    /// Those that chose the model and its server, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub model: BTreeMap<String, String>,
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
    /// Estimated size in full form, so that a resume needn't count it again.
    pub tokens: u32,
    pub item: Arc<Item>,
}

/// Rewritten in batches, because each rewrite costs the prompt cache of everything after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    pub items: Vec<ItemId>,
    pub form: FormName,
    pub cause: Cause,
    /// The text sent for each item, if it depends on more than the item; a replay must give the same bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<Arc<str>>,
}

impl Batch {
    pub fn plain(items: Vec<ItemId>, form: FormName, cause: impl Into<Cause>) -> Self {
        Self { items, form, texts: Vec::new(), cause: cause.into() }
    }

    pub fn with_texts(chosen: Vec<(ItemId, Arc<str>)>, form: FormName, cause: impl Into<Cause>) -> Self {
        let (items, texts) = chosen.into_iter().unzip();
        Self { items, form, texts, cause: cause.into() }
    }
}

/// How an item is sent, from largest to smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum FormName {
    Full,
    /// Filtered for noise, or reduced to what isn't in view yet; chosen when the item arrived.
    Filtered,
    Compressed,
    /// Only some of its lines; only in old logs.
    Masked,
    Pointer,
    /// A digest of this and the following items, which are gone; only in old logs.
    Folded,
    /// The program's note on several folded steps of its round.
    Note,
    /// Not sent; the note of its round stands for it.
    Gone,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestRecord {
    pub ms: u64,
    pub model: String,
    pub estimated: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// Changes to the request's fixed parts; a session's first record has all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FrameRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Arc<[ToolSpec]>>,
    /// Empty if there are no rules any more.
    #[serde(rename = "law", skip_serializing_if = "Option::is_none")]
    pub rules: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Params>,
}

/// A sent request: its hash and size, and what changed since the previous one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SentRecord {
    pub ms: u64,
    /// Of the full request: system, tools, parameters, messages.
    pub hash: Fingerprint,
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
    /// The first changed message; also 0 if something before the messages changed.
    pub at: usize,
    /// Previously sent tokens that must be read uncached (estimated).
    pub tokens_lost: u64,
    /// Tokens by which each later request is smaller (estimated).
    #[serde(default)]
    pub tokens_saved: u64,
    /// Reasoning blocks left out because they were bound to what changed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reasoning: u64,
    /// The prompt cache had expired already, so nothing was lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    pub causes: Vec<CauseRecord>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CauseRecord {
    pub kind: EpochCause,
    pub reason: String,
}

/// Why part of the past is sent in another form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, EnumString)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum CauseKind {
    /// Shortened before it was first sent.
    #[strum(to_string = "filtered on arrival")]
    Arrival,
    /// It saves more than rereading the past uncached costs.
    Pays,
    #[strum(to_string = "cold cache")]
    ColdCache,
    #[strum(to_string = "soft cap")]
    SoftCap,
    Compaction,
    /// The request wouldn't fit into the window otherwise.
    Trim,
    Drop,
    Restore,
    /// The model accepts its reasoning only if nothing before it changed.
    #[strum(to_string = "reasoning bound to what changed")]
    ReasoningBound,
    #[strum(to_string = "reasoning rejected by the server")]
    ReasoningRejected,
}

impl CauseKind {
    pub fn because(self, detail: impl Into<Cow<'static, str>>) -> Cause {
        Cause { kind: self, detail: detail.into() }
    }

    /// The matching epoch cause; `None` if nothing sent before changes, or the change follows from an epoch.
    pub fn of_epoch(self) -> Option<EpochCause> {
        match self {
            Self::Arrival | Self::ReasoningBound => None,
            Self::Pays | Self::ColdCache => Some(EpochCause::TurnEndCompression),
            Self::SoftCap | Self::Compaction | Self::Trim => Some(EpochCause::Compaction),
            Self::Drop | Self::Restore => Some(EpochCause::UserEdit),
            Self::ReasoningRejected => Some(EpochCause::ReasoningRejected),
        }
    }
}

impl From<CauseKind> for Cause {
    fn from(kind: CauseKind) -> Self {
        kind.because("")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredCause")]
pub struct Cause {
    pub kind: CauseKind,
    pub detail: Cow<'static, str>,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gap = if self.detail.is_empty() { "" } else { ": " };
        write!(f, "{}{gap}{}", self.kind.into_str(), self.detail)
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum StoredCause {
    Typed {
        kind: CauseKind,
        detail: String,
    },
    /// In logs up to November 2026: a word, then details.
    Sentence(String),
}

impl From<StoredCause> for Cause {
    fn from(stored: StoredCause) -> Self {
        let sentence = match stored {
            StoredCause::Typed { kind, detail } => return kind.because(detail),
            StoredCause::Sentence(sentence) => sentence,
        };
        let (word, detail) = sentence.split_once(':').unwrap_or((&sentence, ""));
        let detail = detail.trim_start();
        let kind = match word {
            "batch" if detail.starts_with("soft cap") => CauseKind::SoftCap,
            "batch" if detail.starts_with("the cache is cold") => CauseKind::ColdCache,
            "batch" => CauseKind::Pays,
            word => word.parse().unwrap_or(CauseKind::Compaction),
        };
        kind.because(detail.to_owned())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn causes_of_older_logs() {
        use EpochCause::{Compaction, TurnEndCompression, UserEdit};
        let causes = [
            ("filtered on arrival", None),
            ("batch: pays (gain 9 × price 0.10 × R 10 = 9 > tail 1 × 0.90 = 1)", Some(TurnEndCompression)),
            ("batch: soft cap (61000 > 60000, landing at 48000)", Some(Compaction)),
            ("compaction", Some(Compaction)),
            ("trim: tool results", Some(Compaction)),
            ("drop: by the user", Some(UserEdit)),
            ("restore: by the user", Some(UserEdit)),
        ];
        for (sentence, kind) in causes {
            let cause: Cause = serde_json::from_value(sentence.into()).unwrap();
            assert_eq!(cause.kind.of_epoch(), kind, "{sentence}");
            let again: Cause = serde_json::from_value(serde_json::to_value(&cause).unwrap()).unwrap();
            assert_eq!(again, cause);
        }
    }
}
