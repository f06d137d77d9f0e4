//! What the person has allowed beyond the permission level: for this session (in memory) and for good in this project
//! (a file in the state folder, never in the checkout). Knows nothing of levels.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::command;
use crate::base::atomic::{self, Expect};
use crate::base::file::{self, FileError};

/// The largest rules file.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The stored part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    /// Command prefixes that always run.
    commands: Vec<String>,
    /// The person does not want to be asked about a rules file.
    no_init_offer: bool,
}

/// The rules of one project.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    path: PathBuf,
    stored: Stored,
    session_commands: Vec<String>,
    session_writes: bool,
    session_reads: Vec<PathBuf>,
    damage: Option<String>,
}

impl Rules {
    /// Reads the project's rules; a missing or damaged file allows nothing.
    pub fn load(project_state: &Path) -> Self {
        let path = project_state.join("rules.json");
        let read = match file::read(&path, MAX_BYTES) {
            Ok((bytes, _)) => serde_json::from_slice(&bytes).map_err(|error| format!("damaged: {error}")),
            Err(FileError::NotFound) => Ok(Stored::default()),
            Err(error) => Err(error.to_string()),
        };
        let (stored, damage) = match read {
            Ok(stored) => (stored, None),
            Err(why) => (Stored::default(), Some(why)),
        };
        Self { path, stored, damage, ..Self::default() }
    }

    /// What the person should know about a file that could not be used.
    pub fn damage(&self) -> Option<String> {
        let why = self.damage.as_ref()?;
        let path = self.path.display();
        Some(format!(
            "{path} can't be read ({why}). What was always allowed is asked again; correct the file or delete it."
        ))
    }

    /// Allows a command prefix for good.
    ///
    /// # Errors
    /// When the rules file cannot be written; the prefix holds for the session anyway.
    pub fn always(&mut self, prefix: String) -> io::Result<()> {
        self.session_commands.push(prefix.clone());
        if !self.stored.commands.contains(&prefix) {
            self.stored.commands.push(prefix);
        }
        self.save()
    }

    /// Allows what was asked for the rest of the session: the prefix, or any command when there is none.
    pub fn for_session_command(&mut self, command: &str) {
        match command::general_prefix(command) {
            Some(prefix) => self.session_commands.push(prefix),
            None => self.session_commands.push(command.to_owned()),
        }
    }

    /// Allows changes inside the workspace for the rest of the session.
    pub fn for_session_writes(&mut self) {
        self.session_writes = true;
    }

    /// Allows reading below `folder` for the rest of the session.
    pub fn for_session_reads(&mut self, folder: PathBuf) {
        self.session_reads.push(folder);
    }

    pub fn writes_allowed(&self) -> bool {
        self.session_writes
    }

    pub fn read_allowed(&self, path: &Path) -> bool {
        self.session_reads.iter().any(|folder| path.starts_with(folder))
    }

    /// Whether a command runs without a question by rule.
    pub fn command_allowed(&self, text: &str) -> bool {
        let mut prefixes = self.stored.commands.clone();
        prefixes.extend(self.session_commands.iter().cloned());
        self.session_commands.iter().any(|allowed| allowed == text) || command::covered(text, &prefixes)
    }

    pub fn offers_init(&self) -> bool {
        !self.stored.no_init_offer
    }

    /// Remembers that no rules file is wanted.
    ///
    /// # Errors
    /// When the rules file cannot be written.
    pub fn decline_init(&mut self) -> io::Result<()> {
        self.stored.no_init_offer = true;
        self.save()
    }

    fn save(&self) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let text = serde_json::to_string_pretty(&self.stored)?;
        atomic::write(&self.path, text.as_bytes(), Expect::Anything).map_err(io::Error::other)
    }
}
