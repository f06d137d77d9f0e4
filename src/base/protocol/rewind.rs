//! Going back: the points that a session can return to, what that would do, and what it did. Plain data for front ends.

use serde::{Deserialize, Serialize};

use crate::model::item::ItemId;

/// A point in time of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointId {
    /// Right before the turn that begins with this item.
    Turn(ItemId),
    /// Right before a rewind, counted from 1: going there undoes it.
    Rewind(u32),
}

/// What goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RewindScope {
    Files,
    Conversation,
    Both,
}

impl RewindScope {
    pub fn files(self) -> bool {
        self != Self::Conversation
    }

    pub fn conversation(self) -> bool {
        self != Self::Files
    }

    /// The words that users see.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Files => "files",
            Self::Conversation => "conversation",
            Self::Both => "conversation and files",
        }
    }
}

/// One row of the list, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindPoint {
    pub id: PointId,
    /// What `--to` takes: the number of the turn, or `u1` for undoing the first rewind.
    pub name: String,
    /// The turn's first line, or what the rewind did.
    pub title: String,
    /// Milliseconds since the Unix epoch; 0 when it is not known.
    pub ms: u64,
    /// What this turn or rewind changed.
    pub files: usize,
    pub plus: u32,
    pub minus: u32,
    /// Whether the conversation can go back there.
    pub conversation: bool,
}

/// What happens to one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// The content from before takes the place of the present one.
    Restore,
    /// It was deleted and comes back.
    Recreate,
    /// It did not exist and goes.
    Delete,
    /// Only the permission bits change.
    Mode,
}

impl FileAction {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Restore => "restore",
            Self::Recreate => "recreate",
            Self::Delete => "delete",
            Self::Mode => "mode",
        }
    }
}

/// One path of a preview.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindRow {
    /// Relative to the workspace.
    pub path: String,
    #[serde(rename = "deed")]
    pub action: FileAction,
    /// Lines that the rewind adds and removes.
    pub plus: u32,
    pub minus: u32,
    /// What differs beside the content: permission bits, a link, a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<String>,
    /// Why it is left alone, unless forced.
    pub conflict: Option<String>,
    /// Why it cannot be done, forced or not.
    pub impossible: Option<String>,
}

/// What going to a point would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindPreview {
    pub point: RewindPoint,
    pub rows: Vec<RewindRow>,
    /// Paths outside of the workspace that tools changed since: never touched.
    pub outside: Vec<String>,
    /// Messages that leave the conversation, or come back to it.
    pub items: usize,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindDone {
    pub part: RewindScope,
    /// Paths that are as they were.
    pub done: Vec<String>,
    /// Paths that were left alone, and why.
    pub left: Vec<(String, String)>,
    /// The text of the turn that was taken back, for the composer.
    pub text: Option<String>,
    /// What `--to` takes to undo this rewind.
    pub undo: String,
}
