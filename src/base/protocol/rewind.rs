//! Rewinding: the points to return to, a preview, and the result.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::model::item::ItemId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointId {
    /// Right before the turn that begins with this item.
    Turn(ItemId),
    /// Right before a rewind, counted from 1, which this undoes.
    Rewind(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum RewindScope {
    Files,
    Conversation,
    #[strum(to_string = "conversation and files")]
    Both,
}

impl RewindScope {
    pub fn files(self) -> bool {
        self != Self::Conversation
    }

    pub fn conversation(self) -> bool {
        self != Self::Files
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindPoint {
    pub id: PointId,
    /// The value for `--to`: the turn's number, or `u1` to undo the first rewind.
    pub name: String,
    /// The turn's first line, or what the rewind did.
    pub title: String,
    /// Milliseconds since the Unix epoch; 0 if unknown.
    pub ms: u64,
    pub files: usize,
    pub plus: u32,
    pub minus: u32,
    pub conversation: bool,
}

impl RewindPoint {
    /// `before` introduces a turn's first line; the title of a rewind says what going there does.
    pub fn heading(&self, before: &str) -> String {
        match self.id {
            PointId::Turn(_) => format!("{before}: {}", self.title),
            PointId::Rewind(_) => self.title.clone(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum FileAction {
    Restore,
    Recreate,
    Delete,
    Mode,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindRow {
    pub path: String,
    #[serde(rename = "deed")]
    pub action: FileAction,
    pub plus: u32,
    pub minus: u32,
    /// Differences besides the content: permission bits, a link, a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// Why it isn't changed unless forced.
    pub conflict: Option<String>,
    /// Why it can't be changed even if forced.
    pub impossible: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindPreview {
    pub point: RewindPoint,
    pub rows: Vec<RewindRow>,
    /// Paths outside the workspace that tools changed; never touched.
    pub outside: Vec<String>,
    /// Messages that leave or return to the conversation.
    pub items: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindDone {
    pub part: RewindScope,
    pub done: Vec<String>,
    pub left: Vec<(String, String)>,
    /// The text of the undone turn, for the composer.
    pub text: Option<String>,
    /// The value for `--to` that undoes this rewind.
    pub undo: String,
}
