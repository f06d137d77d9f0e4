//! What stands at a path, as the journal writes it down: enough to tell whether it is still the same, and to bring it
//! back. Plain data; looking at the disk is for `disk`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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

/// Paths in JSON: text where they are text, else the list of their bytes.
pub mod path_text {
    use std::ffi::OsString;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum FileForm {
        Text(String),
        Bytes(Vec<u8>),
    }

    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => path.as_os_str().as_bytes().serialize(serializer),
        }
    }

    /// # Errors
    /// Neither a text nor a list of bytes.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        Ok(match FileForm::deserialize(deserializer)? {
            FileForm::Text(text) => text.into(),
            FileForm::Bytes(bytes) => OsString::from_vec(bytes).into(),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    #[test]
    fn paths_that_are_no_text_survive() {
        for bytes in [&b"a/b"[..], b"caf\xe9", "日本".as_bytes()] {
            let link = PathState::Link { to: OsStr::from_bytes(bytes).into() };
            let line = serde_json::to_string(&link).unwrap();
            assert_eq!(serde_json::from_str::<PathState>(&line).unwrap(), link, "{line}");
        }
    }
}
