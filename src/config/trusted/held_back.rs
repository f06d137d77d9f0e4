//! Rules files that appeared or changed while one of the agent's commands ran: a command could plant what the model then
//! obeys. They are used once the user has said so, and only as they are then. Kept in the project's state.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::file;
use crate::base::folder::atomic_write::{self, Expect};
use crate::base::path_text;

/// The largest of our files that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// Contents of rules files, as hashes.
pub type RulesHashes = BTreeMap<PathBuf, String>;

#[derive(Serialize, Deserialize)]
struct Row {
    #[serde(with = "path_text")]
    path: PathBuf,
    hash: String,
}

/// What is held back in one project.
#[derive(Clone, Debug)]
pub struct HeldBack {
    folder: PathBuf,
}

impl HeldBack {
    /// `project_state` is the project's folder in the user's state.
    pub fn new(project_state: &Path) -> Self {
        Self { folder: project_state.to_owned() }
    }

    /// What is held back.
    pub fn list(&self) -> RulesHashes {
        read(&self.held())
    }

    /// Holds these back too.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    pub fn add(&self, more: RulesHashes) -> io::Result<()> {
        let mut all = self.list();
        all.extend(more);
        file::create_private_folder(&self.folder)?;
        let bytes = serde_json::to_vec(&rows(all))?;
        atomic_write::write_private(&self.held(), &bytes, Expect::Anything).map_err(io::Error::other)
    }

    /// Holds nothing back any more.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    pub fn release(&self) -> io::Result<()> {
        remove(&self.held())
    }

    /// Remembers how the rules files are before a command runs, so that the next session knows what it changed when this one
    /// is killed meanwhile.
    ///
    /// # Errors
    /// When the state folder cannot be written.
    pub fn begin_command(&self, before: RulesHashes) -> io::Result<()> {
        // Not by an exchange that waits for the disk: a torn file names nothing as known, and all is held back then.
        file::create_private_folder(&self.folder)?;
        std::fs::write(self.before(), serde_json::to_vec(&rows(before))?)
    }

    /// How they were before the command that ran last, once; `None` when none was cut off.
    pub fn take_before(&self) -> Option<RulesHashes> {
        let before = self.before();
        let known = before.symlink_metadata().is_ok().then(|| read(&before));
        let _ = remove(&before);
        known
    }

    fn held(&self) -> PathBuf {
        self.folder.join("held-back-rules.json")
    }

    fn before(&self) -> PathBuf {
        self.folder.join("rules-before-command.json")
    }
}

fn read(path: &Path) -> RulesHashes {
    let text = file::small_text(path, MAX_BYTES).unwrap_or_default();
    let rows: Vec<Row> = serde_json::from_str(&text).unwrap_or_default();
    rows.into_iter().map(|row| (row.path, row.hash)).collect()
}

fn rows(hashes: RulesHashes) -> Vec<Row> {
    hashes.into_iter().map(|(path, hash)| Row { path, hash }).collect()
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
