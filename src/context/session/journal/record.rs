//! The lines of a session's journal, and the states of paths in them. A line is written before its action,
//! so after a kill the journal covers at least everything that was done.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::session::log;
use base::file;
use base::format::path_text;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalRecord {
    /// The turn that began with this item made the following changes.
    Turn { item: u64, ms: u64, title: String },
    /// A rewind made the following changes. `last_item` is the newest item before it; `voided` is the number of the
    /// conversation's rewind, if that was rewound too.
    Rewind { ms: u64, last_item: u64, title: String, voided: Option<u32> },
    /// A command is about to run; its changes are recorded after it ends.
    Running { command: String },
    /// All changes of the running command are recorded.
    Ran,
    /// A path was changed or is about to be.
    Change(JournalChange),
    /// A tool changed something outside the workspace, which is never undone.
    Outside {
        #[serde(with = "path_text")]
        path: PathBuf,
    },
}

/// What Python writes beside any module that it loads; nobody wants to read about it.
pub fn is_cache(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "__pycache__")
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalChange {
    #[serde(with = "path_text")]
    pub path: PathBuf,
    pub before: PathState,
    pub after: PathState,
    pub by: String,
    pub plus: u32,
    pub minus: u32,
    /// May be another program's change: found after a command was killed, or older than the command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubtful: bool,
}

impl JournalChange {
    pub fn new(
        path: &Path,
        by: &str,
        before: PathState,
        after: PathState,
        (plus, minus): (u32, u32),
    ) -> Self {
        let (path, by) = (path.to_owned(), by.to_owned());
        Self { path, before, after, by, plus, minus, doubtful: false }
    }
}

pub fn path_of(journal_folder: &Path, session: &str) -> PathBuf {
    journal_folder.join(format!("{session}.jsonl"))
}

pub fn read(path: &Path) -> Vec<JournalRecord> {
    let Ok(bytes) = file::read_own(path) else { return Vec::new() };
    let records = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    records.filter(is_inside).collect()
}

/// The recorder only writes such paths; others would lead a rewind out of the workspace.
fn is_inside(record: &JournalRecord) -> bool {
    let JournalRecord::Change(change) = record else { return true };
    change.path.components().all(|part| matches!(part, Component::Normal(_)))
}

pub fn append(path: &Path, lines: &[JournalRecord]) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        file::create_private_folder(folder)?;
    }
    let mut file = file::open_private(OpenOptions::new().read(true).append(true).create(true), path)?;
    let mut bytes = Vec::with_capacity(256 * lines.len());
    if !log::ends_with_line_end(&mut file)? {
        bytes.push(b'\n');
    }
    for line in lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    file.write_all(&bytes)
}

/// What is at a path: enough to detect a change and to restore it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathState {
    Absent,
    /// A regular file; its bytes may be in the store, named `hash`.
    File {
        hash: String,
        size: u64,
        mode: u32,
    },
    Link {
        #[serde(with = "path_text")]
        to: PathBuf,
    },
    Folder,
    FolderWith {
        mode: u32,
    },
    /// A file that wasn't read because of its size or number: known by size and time, can't be restored.
    Unkept {
        size: u64,
        mtime_ns: i64,
    },
    /// A FIFO, socket or device: never touched.
    Special,
}

impl PathState {
    pub fn hash(&self) -> Option<&str> {
        let Self::File { hash, .. } = self else { return None };
        Some(hash)
    }

    pub fn mode(&self) -> Option<u32> {
        let (Self::File { mode, .. } | Self::FolderWith { mode }) = self else { return None };
        Some(*mode)
    }

    pub fn is_folder(&self) -> bool {
        matches!(self, Self::Folder | Self::FolderWith { .. })
    }

    /// Whether two states differ at most in the permission bits.
    pub fn same_content(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { hash: a, .. }, Self::File { hash: b, .. }) => a == b,
            (a, b) => a == b || a.is_folder() && b.is_folder(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = path_of(dir.path(), "s");
        let change = |path: &str| {
            JournalRecord::Change(JournalChange {
                path: path.into(),
                before: PathState::Absent,
                after: PathState::Absent,
                by: "Bash".into(),
                plus: 0,
                minus: 0,
                doubtful: false,
            })
        };
        append(&path, &["/etc/x", "../x", "a/../../x", "a/b"].map(change)).unwrap();
        assert_eq!(read(&path), [change("a/b")]);
    }
}
