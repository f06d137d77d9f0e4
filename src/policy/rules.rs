//! What the user has allowed beyond the permission level: for this session (in memory) and for good in this project
//! (a file in the state folder, never in the checkout).

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::command::{AssessedCall, AssessedCommand};
use super::command_prefix;
use crate::base::atomic_write::{self, Expect};
use crate::base::file::{self, FileError};
use crate::policy::programs::assessment::Risk;

/// The largest rules file.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// How often saving starts anew when others write at the same moment.
const SAVE_ATTEMPTS: usize = 8;

/// The stored part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    /// Command prefixes that always run.
    commands: Vec<String>,
    /// The user does not want to be asked about a rules file.
    no_init_offer: bool,
}

/// The rules of one project.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    path: PathBuf,
    stored: Stored,
    /// Whole commands: what has no safe prefix is allowed only as it was asked.
    session_commands: Vec<String>,
    session_prefixes: Vec<String>,
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

    /// What the user should know about a file that could not be used.
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
        self.session_prefixes.push(prefix.clone());
        if !self.stored.commands.contains(&prefix) {
            self.stored.commands.push(prefix);
        }
        self.save()
    }

    /// Allows what was asked for the rest of the session: the prefix, or this very command when there is none.
    pub fn for_session_command(&mut self, command: &str, prefix: Option<String>) {
        match prefix {
            Some(prefix) => self.session_prefixes.push(prefix),
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

    /// Forgets what was allowed for the session only.
    pub fn forget_session(&mut self) {
        self.session_commands.clear();
        self.session_prefixes.clear();
        self.session_reads.clear();
        self.session_writes = false;
    }

    /// Whether this very command was allowed for the session. What could destroy everything never is.
    pub fn command_allowed(&self, text: &str, judged: &AssessedCommand) -> bool {
        judged.grade() != Some(Risk::Never) && self.session_commands.iter().any(|allowed| allowed == text)
    }

    /// Whether a segment runs without a question by rule.
    pub fn segment_allowed(&self, segment: &AssessedCall) -> bool {
        let prefixes = self.stored.commands.iter().chain(&self.session_prefixes).map(String::as_str);
        command_prefix::covers(segment, prefixes)
    }

    /// Whether all that the line does beyond looking was allowed by a rule, or the very line.
    pub fn covers(&self, text: &str, judged: &AssessedCommand) -> bool {
        let AssessedCommand::Segments(segments) = judged else { return self.command_allowed(text, judged) };
        let mut beyond = segments.iter().filter(|one| one.finding.grade != Risk::Looks).peekable();
        self.command_allowed(text, judged)
            || beyond.peek().is_some() && beyond.all(|segment| self.segment_allowed(segment))
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

    /// Adds ours to what the file has now: another process may have added to it since we read it.
    fn save(&mut self) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        for _ in 0..SAVE_ATTEMPTS {
            let old = match file::read(&self.path, MAX_BYTES) {
                Ok((bytes, _)) => Some(bytes),
                Err(FileError::NotFound) => None,
                Err(FileError::TooLarge { .. }) => {
                    self.set_aside()?;
                    continue;
                }
                Err(error) => return Err(io::Error::other(error)),
            };
            let mut merged = match old.as_deref().map(serde_json::from_slice::<Stored>) {
                Some(Ok(stored)) => stored,
                Some(Err(_)) => {
                    self.set_aside()?;
                    continue;
                }
                None => Stored::default(),
            };
            merged.no_init_offer |= self.stored.no_init_offer;
            let new = self.stored.commands.iter().filter(|command| !merged.commands.contains(command));
            let new: Vec<String> = new.cloned().collect();
            merged.commands.extend(new);
            let text = serde_json::to_string_pretty(&merged)?;
            let expect = old.as_deref().map_or(Expect::Missing, Expect::Bytes);
            match atomic_write::write(&self.path, text.as_bytes(), expect) {
                Ok(()) => {
                    self.stored = merged;
                    self.damage = None;
                    return Ok(());
                }
                Err(FileError::Changed | FileError::Exists | FileError::NotFound) => {}
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Err(io::Error::other("it was changed by someone else again and again"))
    }

    /// A file that cannot be read may be a user's work with a slip in it: it is kept beside.
    fn set_aside(&self) -> io::Result<()> {
        std::fs::rename(&self.path, self.path.with_extension("json.damaged"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_keep_each_others_rules() {
        let dir = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (Rules::load(dir.path()), Rules::load(dir.path()));
        one.always("cargo test".to_owned()).unwrap();
        two.always("pytest".to_owned()).unwrap();
        one.decline_init().unwrap();
        let all = Rules::load(dir.path());
        assert_eq!(all.stored.commands, ["cargo test", "pytest"]);
        assert!(!all.offers_init());
    }

    #[test]
    fn a_damaged_file_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("rules.json"), "{\"commands\": [").unwrap();
        let mut rules = Rules::load(dir.path());
        assert!(rules.damage().is_some());
        rules.always("pytest".to_owned()).unwrap();
        assert_eq!(
            std::fs::read_to_string(dir.path().join("rules.json.damaged")).unwrap(),
            "{\"commands\": ["
        );
        assert_eq!(Rules::load(dir.path()).stored.commands, ["pytest"]);
    }
}
