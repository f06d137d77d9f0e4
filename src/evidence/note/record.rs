//! A note as the program knows it: what its front matter says, and which file it is. Plain data.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The notes folder, relative to the project.
pub const FOLDER: &str = ".mycode/notes";

/// What a note is for (SPEC §8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    pub const ALL: [Self; 9] = [
        Self::Blocker,
        Self::Action,
        Self::TaskState,
        Self::Conclusion,
        Self::Gotcha,
        Self::Pattern,
        Self::Outcome,
        Self::Reference,
        Self::General,
    ];

    /// The name used in files, flags and schemas.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocker => "blocker",
            Self::Action => "action",
            Self::TaskState => "task_state",
            Self::Conclusion => "conclusion",
            Self::Gotcha => "gotcha",
            Self::Pattern => "pattern",
            Self::Outcome => "outcome",
            Self::Reference => "reference",
            Self::General => "general",
        }
    }
}

impl FromStr for NoteKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let plain = text.trim().to_lowercase().replace(['-', ' '], "_");
        Self::ALL.into_iter().find(|kind| kind.as_str() == plain).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|kind| kind.as_str()).collect();
            format!("'{text}' is not a type of note; use {}", names.join(", "))
        })
    }
}

/// The usual importance, of 1–5.
pub const USUAL_IMPORTANCE: u8 = 3;

/// What front matter and body say, as far as the program understands it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// As the file says; `None` when it says none that could be used.
    pub id: Option<String>,
    pub title: String,
    pub kind: NoteKind,
    pub tags: Vec<String>,
    /// Relative to the project, with `/`.
    pub files: Vec<String>,
    /// Ids or titles of other notes: of the front matter and of `[[…]]` in the body.
    pub links: Vec<String>,
    /// 1–5.
    pub importance: u8,
    /// Milliseconds since the Unix epoch.
    pub created_ms: Option<u64>,
    pub updated_ms: Option<u64>,
    /// A user's own word for how far it is, such as `resolved`.
    pub status: Option<String>,
    /// The first sentence of the body.
    pub gist: String,
    /// What is odd about the file.
    pub oddity: Option<String>,
}

/// One note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Unique among all notes, archived ones included.
    pub id: String,
    /// Relative to the notes folder: `name.md` or `archive/name.md`.
    pub file: String,
    pub archived: bool,
    /// Of the content.
    pub hash: String,
    pub bytes: u64,
    /// When it last changed, in milliseconds since the Unix epoch: as the note says, else as the file system says.
    pub changed_ms: u64,
    pub facts: Facts,
}

impl Note {
    /// The file, relative to the project.
    pub fn path(&self) -> String {
        format!("{FOLDER}/{}", self.file)
    }

    /// A blocker that nobody has marked as over.
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

    /// How many days ago it changed.
    pub fn age_days(&self, now_ms: u64) -> f64 {
        now_ms.saturating_sub(self.changed_ms) as f64 / 86_400_000.0
    }
}
