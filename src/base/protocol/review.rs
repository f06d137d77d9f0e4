//! What a session, or its last turn, changed in the files: plain data for front ends.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::rewind::FileAction;

/// All changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Of the last turn that changed something; else of the session.
    pub turn: bool,
    pub files: Vec<ChangedFile>,
    /// Paths outside of the workspace that tools changed: they have no copy from before.
    pub outside: Vec<String>,
}

/// One changed path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Relative to the workspace.
    pub path: String,
    /// What bringing it back would do.
    pub action: FileAction,
    pub plus: u32,
    pub minus: u32,
    /// What differs beside the content.
    pub differs: Option<String>,
    /// The places that differ.
    pub hunks: Vec<Hunk>,
    /// Why nothing of it can be reverted here.
    pub refused: Option<String>,
}

impl ChangedFile {
    /// The path and what became of it.
    pub fn heading(&self) -> String {
        let mut text = format!("{}  +{} -{}", self.path, self.plus, self.minus);
        let what = match self.action {
            FileAction::Delete => ", created",
            FileAction::Recreate => ", deleted",
            FileAction::Restore | FileAction::Mode => "",
        };
        text.push_str(what);
        for told in [&self.differs, &self.refused].into_iter().flatten() {
            // Writing to a String cannot fail.
            let _ = write!(text, " · {told}");
        }
        text
    }
}

/// One place that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    pub id: HunkId,
    /// A unified diff with the names of the file.
    pub diff: String,
}

/// Names a place that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkId {
    /// Relative to the workspace.
    pub path: String,
    /// Of the file's whole content, and of the place itself: what has changed since is not touched.
    pub content: String,
    pub place: String,
}
