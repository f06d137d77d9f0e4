//! Where the permission level and the person's rules are kept while the agent runs: judged by the dispatcher, changed by
//! answers and by `/permission`, also in the middle of a turn.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::config::settings::{Permission, WorkSettings};
use crate::policy::access::Access;
use crate::policy::place::Place;
use crate::policy::prefix;
use crate::policy::rules::Rules;
use crate::policy::sandbox::probe;
use crate::policy::sandbox::spec::{Confinement, Level};
use crate::policy::verdict::{Judge, Verdict};

struct State {
    permission: Permission,
    rules: Rules,
}

/// The desk.
pub struct PolicyDesk {
    state: Mutex<State>,
    workspace: PathBuf,
    readable: Vec<PathBuf>,
    /// Whether commands are to be confined.
    sandbox: bool,
}

fn runs(accesses: &[Access]) -> bool {
    accesses.iter().any(|access| matches!(access, Access::Exec { .. }))
}

impl PolicyDesk {
    pub fn new(work: &WorkSettings, rules: Rules, workspace: PathBuf, readable: Vec<PathBuf>) -> Self {
        let state = State { permission: work.permission, rules };
        Self { state: Mutex::new(state), workspace, readable, sandbox: work.sandbox }
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
        let confined = self.confines(state.permission);
        // What `auto` lets run is let run because it is confined. Where it can't be, each command is asked for.
        let unheld = state.permission == Permission::Auto && confined && !probe::held().files;
        let permission = if unheld && runs(accesses) { Permission::Ask } else { state.permission };
        let verdict = self.judge(permission, &state.rules, accesses);
        match verdict {
            // A rule that allows the command was made for what it needs.
            Verdict::Ask { reason } if accesses.contains(&Access::Network) => {
                let rest: Vec<Access> =
                    accesses.iter().filter(|one| **one != Access::Network).cloned().collect();
                match self.judge(permission, &state.rules, &rest) {
                    Verdict::Allow if self.by_rule(&state, &rest) => Verdict::Allow,
                    Verdict::Ask { reason: other } => {
                        Verdict::Ask { reason: format!("{other}, and {reason}") }
                    }
                    _ => Verdict::Ask { reason },
                }
            }
            Verdict::Ask { reason } if unheld => {
                Verdict::Ask { reason: format!("{reason}, and it can't be confined on this machine") }
            }
            verdict => verdict,
        }
    }

    /// How a command that may run will run; `approved` when the person was asked for this very call. What a level allows by
    /// itself is confined; what the person allowed, once or by rule, runs as they would run it.
    pub fn confinement(&self, accesses: &[Access], approved: bool) -> Confinement {
        let state = self.state();
        if !runs(accesses) || !self.confines(state.permission) {
            return Confinement::Free;
        }
        let network = accesses.contains(&Access::Network);
        let command: Vec<Access> = accesses.iter().filter(|one| **one != Access::Network).cloned().collect();
        let by_level = self.judge(state.permission, &Rules::default(), &command) == Verdict::Allow;
        let level = match state.permission {
            Permission::ReadOnly => Level::ReadOnly,
            Permission::Ask if by_level && !approved => Level::ReadOnly,
            Permission::Auto if by_level => Level::Workspace,
            _ => return Confinement::Free,
        };
        // Without walls only what the person allowed comes so far, and what certainly just looks.
        if !probe::held().files {
            return Confinement::Free;
        }
        Confinement::Confined { level, network }
    }

    /// Whether a level's commands are confined at all.
    pub fn confines(&self, permission: Permission) -> bool {
        self.sandbox && permission != Permission::Full
    }

    fn by_rule(&self, state: &State, command: &[Access]) -> bool {
        command.iter().all(|access| match access {
            Access::Exec { command, cwd } => {
                let readable: Vec<&Path> = self.readable.iter().map(PathBuf::as_path).collect();
                state.rules.command_allowed(command, &Place::new(&self.workspace, &readable, cwd))
            }
            _ => true,
        })
    }

    fn judge(&self, permission: Permission, rules: &Rules, accesses: &[Access]) -> Verdict {
        let readable: Vec<&Path> = self.readable.iter().map(PathBuf::as_path).collect();
        Judge { permission, rules, workspace: &self.workspace, readable: &readable }.decide(accesses)
    }

    /// What "always" would allow for these accesses.
    pub fn always_prefix(accesses: &[Access]) -> Option<String> {
        match accesses {
            [Access::Exec { command: text, .. }] | [Access::Exec { command: text, .. }, Access::Network] => {
                prefix::general_prefix(text)
            }
            _ => None,
        }
    }

    /// Allows everything of this kind for the session.
    pub fn allow_for_session(&self, accesses: &[Access]) {
        let mut state = self.state();
        for access in accesses {
            match access {
                Access::Exec { command, .. } => state.rules.for_session_command(command),
                Access::Write(path) if path.starts_with(&self.workspace) => state.rules.for_session_writes(),
                Access::Read(path) if !path.starts_with(&self.workspace) => {
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
