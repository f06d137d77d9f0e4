//! What stands at a path, as the journal writes it down: enough to tell whether it is still the same, and to bring it
//! back. Plain data; reading the disk is for `inspect`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use base::format::path_text;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathState {
    Absent,
    /// A regular file; its bytes are in the store if that has `hash`.
    File {
        hash: String,
        size: u64,
        mode: u32,
    },
    /// A symbolic link.
    Link {
        #[serde(with = "path_text")]
        to: PathBuf,
    },
    Folder,
    /// A file that was too large or too many to be read: known by size and time only, and not to be brought back.
    Unkept {
        size: u64,
        mtime_ns: i64,
    },
    /// A FIFO, socket or device: never touched.
    Special,
}

impl PathState {
    /// The content's name in the store.
    pub fn hash(&self) -> Option<&str> {
        match self {
            Self::File { hash, .. } => Some(hash),
            _ => None,
        }
    }

    /// Whether two states differ in nothing but the permission bits.
    pub fn same_content(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::File { hash: a, .. }, Self::File { hash: b, .. }) => a == b,
            (a, b) => a == b,
        }
    }
}
