//! What is at a path, as the journal records it: enough to detect a change and to restore it. Plain data;
//! `inspect` reads the disk.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use base::format::path_text;

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
    /// Its permission bits are not known.
    Folder,
    FolderWith {
        mode: u32,
    },
    /// A file too large, or one of too many, to be read: known by size and time only, can't be restored.
    Unkept {
        size: u64,
        mtime_ns: i64,
    },
    /// A FIFO, socket or device: never touched.
    Special,
}

impl PathState {
    pub fn hash(&self) -> Option<&str> {
        match self {
            Self::File { hash, .. } => Some(hash),
            _ => None,
        }
    }

    pub fn mode(&self) -> Option<u32> {
        match self {
            Self::File { mode, .. } | Self::FolderWith { mode } => Some(*mode),
            _ => None,
        }
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
