//! Where the permission level and the person's rules are kept while the agent runs: judged by the dispatcher, changed by
//! answers and by `/permission`, also in the middle of a turn.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::config::paths::Paths;
use crate::config::settings::Permission;
use crate::policy::access::Access;
use crate::policy::command;
use crate::policy::place::Place;
use crate::policy::prefix;
use crate::policy::rules::Rules;
use crate::policy::verdict::{Judge, Verdict};

struct State {
    permission: Permission,
    rules: Rules,
}

/// The desk.
pub struct PolicyDesk {
    state: Mutex<State>,
    place: Place,
    readable: Vec<PathBuf>,
    /// Whether commands run in a sandbox that holds the file system and the network.
    confined: bool,
}

impl PolicyDesk {
    pub fn new(permission: Permission, rules: Rules, workspace: PathBuf, readable: Vec<PathBuf>) -> Self {
        let readable_now: Vec<&Path> = readable.iter().map(PathBuf::as_path).collect();
        let own = Paths::from_env();
        let place = Place::new(&workspace, &readable_now, &[&own.config, &own.state]);
        Self { state: Mutex::new(State { permission, rules }), place, readable, confined: false }
    }

    pub fn permission(&self) -> Permission {
        self.state().permission
    }

    pub fn set_permission(&self, permission: Permission) {
        self.state().permission = permission;
    }

    /// The verdict over a call.
    pub fn decide(&self, accesses: &[Access]) -> Verdict {
        let state = self.state();
        let readable: Vec<&Path> = self.readable.iter().map(PathBuf::as_path).collect();
        Judge {
            permission: state.permission,
            rules: &state.rules,
            place: &self.place,
            readable: &readable,
            confined: self.confined,
        }
        .decide(accesses)
    }

    /// What "always" would allow for these accesses.
    pub fn always_prefix(&self, accesses: &[Access]) -> Option<String> {
        match accesses {
            [Access::Exec { command: text, cwd }] => {
                prefix::general_prefix(&command::judge(text, cwd, &self.place))
            }
            _ => None,
        }
    }

    /// Allows everything of this kind for the session.
    pub fn allow_for_session(&self, accesses: &[Access]) {
        let prefix = self.always_prefix(accesses);
        let mut state = self.state();
        for access in accesses {
            match access {
                Access::Exec { command, .. } => state.rules.for_session_command(command, prefix.clone()),
                Access::Write(path) if path.starts_with(&self.place.workspace) => {
                    state.rules.for_session_writes()
                }
                Access::Read(path) if !path.starts_with(&self.place.workspace) => {
                    let folder = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
                    if let Some(folder) = folder {
                        state.rules.for_session_reads(folder.to_owned());
                    }
                }
                _ => {}
            }
        }
    }

    /// Drops what was allowed for the session: another one begins.
    pub fn forget_session(&self) {
        self.state().rules.forget_session();
    }

    /// Allows a command prefix in this project from now on.
    ///
    /// # Errors
    /// When the rule cannot be stored; it holds for the session anyway.
    pub fn allow_always(&self, prefix: String) -> std::io::Result<()> {
        self.state().rules.always(prefix)
    }

    /// What the person should know about rules that could not be read.
    pub fn damage(&self) -> Option<String> {
        self.state().rules.damage()
    }

    pub fn offers_init(&self) -> bool {
        self.state().rules.offers_init()
    }

    /// Remembers that no rules file is wanted.
    ///
    /// # Errors
    /// When it cannot be stored.
    pub fn decline_init(&self) -> std::io::Result<()> {
        self.state().rules.decline_init()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
