//! Which parts of a folder's configuration the user trusts. Trust is bound to each exact text and stored in the user's state,
//! never in the checkout. The text is stored too, to show later changes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use similar::TextDiff;

use crate::file;
use crate::folder::update::update;

const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// Longer texts aren't stored, so later changes can't be shown.
const KEPT_BYTES: usize = 64 * 1024;
const CONTEXT: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub kind: &'static str,
    pub name: String,
    pub text: String,
}

impl Definition {
    fn key(&self) -> String {
        format!("{}: {}", self.kind, self.name)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    hash: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    text: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    trusted: BTreeMap<String, Known>,
    /// Hashes of what the user doesn't want to be asked about again.
    refused: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
pub struct Trust {
    path: PathBuf,
    stored: Stored,
}

impl Trust {
    /// If the file can't be read, nothing is trusted.
    pub fn read(state: &Path) -> Self {
        let path = state.join("trusted.json");
        Self { stored: stored(file::read(&path, MAX_BYTES).ok().as_ref().map(|(bytes, _)| &**bytes)), path }
    }

    pub fn holds(&self, one: &Definition) -> bool {
        self.stored.trusted.get(&one.key()).is_some_and(|known| known.hash == hash(&one.text))
    }

    pub fn refused(&self, one: &Definition) -> bool {
        self.stored.refused.get(&one.key()).is_some_and(|known| *known == hash(&one.text))
    }

    pub fn has_changed(&self, one: &Definition) -> bool {
        self.stored.trusted.contains_key(&one.key()) && !self.holds(one)
    }

    /// What changed since the user last trusted it; empty if it is new.
    pub fn difference(&self, one: &Definition) -> String {
        match self.stored.trusted.get(&one.key()) {
            Some(before) if before.hash != hash(&one.text) => {
                if before.text.is_empty() || one.text.len() > KEPT_BYTES {
                    return "(changed; too long to show)\n".to_owned();
                }
                // JSON may be written on one line.
                let json = |text: &str| serde_json::from_str::<Value>(text).map(|json| format!("{json:#}\n"));
                let lines = |text: &str| json(text).unwrap_or_else(|_| text.to_owned());
                let (before, now) = (lines(&before.text), lines(&one.text));
                TextDiff::from_lines(&before, &now).unified_diff().context_radius(CONTEXT).to_string()
            }
            _ => String::new(),
        }
    }

    pub fn give(&self, all: &[Definition]) -> io::Result<()> {
        self.change(|stored| {
            for one in all {
                let text = if one.text.len() > KEPT_BYTES { String::new() } else { one.text.clone() };
                stored.trusted.insert(one.key(), Known { hash: hash(&one.text), text });
            }
        })
    }

    pub fn refuse(&self, all: &[Definition]) -> io::Result<()> {
        self.change(|stored| {
            stored.refused.extend(all.iter().map(|one| (one.key(), hash(&one.text))));
        })
    }

    pub fn revoke(&self) -> io::Result<()> {
        self.change(|stored| stored.trusted.clear())
    }

    fn change(&self, change: impl Fn(&mut Stored)) -> io::Result<()> {
        update(&self.path, |before| {
            let mut stored = stored(before);
            change(&mut stored);
            Ok(Some(serde_json::to_vec(&stored)?))
        })
    }
}

fn stored(bytes: Option<&[u8]>) -> Stored {
    bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).unwrap_or_default()
}

/// Copies a project's trust to a copy of the project, for the same texts only.
pub fn inherit(project_state: &Path, copy_state: &Path) -> io::Result<()> {
    let of_project = Trust::read(project_state).stored.trusted;
    Trust::read(copy_state).change(|stored| stored.trusted.clone_from(&of_project))
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
