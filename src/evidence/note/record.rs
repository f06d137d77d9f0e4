//! A note: its file and parsed front matter.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

pub const FOLDER: &str = ".mycode/notes";

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, EnumIter, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum NoteKind {
    Blocker,
    Action,
    TaskState,
    Conclusion,
    Gotcha,
    Pattern,
    Outcome,
    Reference,
    #[default]
    General,
}

impl NoteKind {
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    pub fn names() -> Vec<&'static str> {
        Self::iter().map(Self::as_str).collect()
    }
}

impl FromStr for NoteKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = text.trim().to_lowercase().replace(['-', ' '], "_");
        let found = Self::iter().find(|kind| kind.as_str() == plain);
        found.ok_or_else(|| format!("'{text}' is not a type of note; use {}", Self::names().join(", ")))
    }
}

/// On a scale of 1–5.
pub const USUAL_IMPORTANCE: u8 = 3;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteFacts {
    /// From the file; `None` if missing or unusable.
    pub id: Option<String>,
    pub title: String,
    pub kind: NoteKind,
    pub tags: Vec<String>,
    /// Relative to the project, with `/`.
    pub files: Vec<String>,
    /// Ids or titles of other notes, from the front matter and `[[…]]` in the body.
    pub links: Vec<String>,
    pub importance: u8,
    pub created_ms: Option<u64>,
    pub updated_ms: Option<u64>,
    pub status: Option<String>,
    pub gist: String,
    pub oddity: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Unique among all notes, including archived ones.
    pub id: String,
    /// Relative to the notes folder: `name.md` or `archive/name.md`.
    pub file: String,
    pub archived: bool,
    pub hash: String,
    pub bytes: u64,
    /// Last change in milliseconds since the Unix epoch, from the note or else from the file system.
    pub changed_ms: u64,
    pub facts: NoteFacts,
}

impl Note {
    pub fn path(&self) -> String {
        format!("{FOLDER}/{}", self.file)
    }

    pub fn is_open_blocker(&self) -> bool {
        let over = |word: &str| {
            let word = word.trim().to_lowercase();
            ["resolved", "closed", "done", "fixed", "solved"].contains(&word.as_str())
        };
        self.facts.kind == NoteKind::Blocker
            && !self.archived
            && !self.facts.status.as_deref().is_some_and(over)
            && !self.facts.tags.iter().any(|tag| over(tag))
    }

    pub fn age_days(&self, now_ms: u64) -> f64 {
        now_ms.saturating_sub(self.changed_ms) as f64 / 86_400_000.0
    }
}
