//! Where the permission level and the user's rules are kept while the agent runs: judged by the dispatcher, changed by
//! answers and by `/permission`, also in the middle of a turn.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::config::settings::{Permission, WorkSettings};
use crate::context::project_rules;
use crate::policy::access::Access;
use crate::policy::command;
use crate::policy::command_prefix;
use crate::policy::path_scope::PathScope;
use crate::policy::programs::assessment::Risk;
use crate::policy::rules::Rules;
use crate::policy::verdict::{CommandVerdict, Verdict, VerdictInputs};
use crate::sandbox::probe;
use crate::sandbox::spec::{Confinement, SandboxLevel};

struct PolicyState {
    permission: Permission,
    rules: Rules,
    /// The user has just asked for this rules file to be written.
    law_wanted: Option<PathBuf>,
}

/// The desk.
pub struct PolicyEngine {
    state: Mutex<PolicyState>,
    place: PathScope,
    readable: Vec<PathBuf>,
    /// Whether commands are to be confined.
    sandbox: bool,
}

/// What holds the commands of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxSupport {
    /// Nothing is to: the level or the user's settings want it so.
    Nothing,
    /// A sandbox, files and network.
    Sandbox,
    /// A sandbox, but on this machine it can't keep the network off.
    FilesOnly,
    /// A sandbox should, and this machine can't.
    Missing,
}

fn runs(accesses: &[Access]) -> bool {
    accesses.iter().any(|access| matches!(access, Access::Exec { .. }))
}

fn without_network(accesses: &[Access]) -> Vec<Access> {
    accesses.iter().filter(|one| **one != Access::Network).cloned().collect()
}

/// The grade of the call's commands; `None` where one is not understood, or there is none.
fn grade(judge: &VerdictInputs, accesses: &[Access]) -> Option<Risk> {
    let commands = accesses.iter().filter_map(|access| match access {
        Access::Exec { command, cwd } => Some(command::judge(command, cwd, judge.place).grade()),
        _ => None,
    });
    commands.collect::<Option<Vec<Risk>>>()?.into_iter().max()
}

/// Whether the network is the one thing that the call's commands need beyond the workspace.
fn reaches_network(judge: &VerdictInputs, accesses: &[Access]) -> bool {
    grade(judge, accesses) == Some(Risk::Network)
}

/// Whether a rule of the user's covers the call's commands.
fn by_rule(judge: &VerdictInputs, accesses: &[Access]) -> bool {
    accesses.iter().all(|access| match access {
        Access::Exec { command, cwd } => {
            let judged = command::judge(command, cwd, judge.place);
            judge.rules.covers(command, &judged)
        }
        _ => true,
    })
}

impl PolicyEngine {
    /// `own` are the program's folders, `readable` what of them the tools may read.
    pub fn new(
        work: &WorkSettings,
        rules: Rules,
        workspace: &Path,
        readable: Vec<PathBuf>,
        own: &[PathBuf],
    ) -> Self {
        let state = PolicyState { permission: work.permission, rules, law_wanted: None };
        let seen: Vec<&Path> = readable.iter().map(PathBuf::as_path).collect();
        let own: Vec<&Path> = own.iter().map(PathBuf::as_path).collect();
        let place = PathScope::new(workspace, &seen, &own);
        Self { state: Mutex::new(state), place, readable, sandbox: work.sandbox }
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
        // `/init` is the user's own wish for this one file; in `ask` the diff is still shown first.
        if let ([Access::Write(path)], Permission::Auto) = (accesses, state.permission)
            && state.law_wanted.as_ref() == Some(path)
        {
            return Verdict::Allow;
        }
        // Only a command has to know what holds it: finding out takes some milliseconds.
        let hold = if runs(accesses) { self.hold(state.permission) } else { SandboxSupport::Nothing };
        let judge = self.judge(state.permission, hold, &state.rules);
        let verdict = match judge.decide(accesses) {
            // A rule that allows the command was made for what it needs.
            Verdict::Ask { reason } if accesses.contains(&Access::Network) => {
                let rest = without_network(accesses);
                match judge.decide(&rest) {
                    Verdict::Allow if by_rule(&judge, &rest) => Verdict::Allow,
                    Verdict::Ask { reason: other } if reaches_network(&judge, &rest) => {
                        Verdict::Ask { reason: other }
                    }
                    Verdict::Ask { reason: other } => {
                        Verdict::Ask { reason: format!("{other}, and it reaches the network") }
                    }
                    _ => Verdict::Ask { reason },
                }
            }
            verdict => verdict,
        };
        self.explained(verdict, state.permission, hold)
    }

    /// While the turn of `/init` runs, the rules file at the workspace's root may be written without a question in `auto`.
    pub fn want_law(&self, wanted: bool) {
        self.state().law_wanted = wanted.then(|| self.place.workspace.join(project_rules::OWN_NAME));
    }

    /// The verdict over a command line, program by program. `hold` in place of what this machine can do.
    pub fn check(&self, text: &str, cwd: &Path, hold: Option<SandboxSupport>) -> CommandVerdict {
        let state = self.state();
        let hold = hold.unwrap_or_else(|| self.hold(state.permission));
        let mut found = self.judge(state.permission, hold, &state.rules).command(text, cwd);
        found.verdict = self.explained(found.verdict, state.permission, hold);
        found
    }

    fn explained(&self, verdict: Verdict, permission: Permission, hold: SandboxSupport) -> Verdict {
        match verdict {
            Verdict::Ask { reason } if permission == Permission::Auto && hold == SandboxSupport::Missing => {
                Verdict::Ask { reason: format!("{reason}, and it can't be confined on this machine") }
            }
            verdict => verdict,
        }
    }

    /// How a command that may run will run; `approved` when the user was asked for this very call. What a level allows by
    /// itself is confined, and so is what only needs the network: a yes hands it that and no more. What else the user
    /// allowed, once or by rule, runs as they would run it.
    pub fn confinement(&self, accesses: &[Access], approved: bool) -> Confinement {
        let state = self.state();
        if !runs(accesses) || !self.confines(state.permission) {
            return Confinement::Free;
        }
        let hold = self.hold(state.permission);
        // Without walls only what the user allowed comes so far, and what certainly just looks.
        if hold == SandboxSupport::Missing {
            return Confinement::Free;
        }
        let nothing = Rules::default();
        let judge = self.judge(state.permission, hold, &nothing);
        let command = without_network(accesses);
        let by_level = judge.decide(&command) == Verdict::Allow;
        let connects = reaches_network(&judge, &command);
        let network = connects || accesses.contains(&Access::Network);
        match state.permission {
            Permission::ReadOnly => Confinement::Confined { level: SandboxLevel::ReadOnly, network: false },
            Permission::Ask if by_level && !approved => {
                Confinement::Confined { level: SandboxLevel::ReadOnly, network }
            }
            Permission::Auto if by_level || connects => {
                Confinement::Confined { level: SandboxLevel::Workspace, network }
            }
            _ => Confinement::Free,
        }
    }

    /// Whether the call runs a command that is not known to only look.
    pub fn may_change(&self, accesses: &[Access]) -> bool {
        let nothing = Rules::default();
        let judge = self.judge(Permission::ReadOnly, SandboxSupport::Nothing, &nothing);
        runs(accesses) && grade(&judge, accesses) != Some(Risk::Looks)
    }

    /// Whether a level's commands are confined at all.
    pub fn confines(&self, permission: Permission) -> bool {
        self.sandbox && permission != Permission::Full
    }

    /// What holds the commands of a level here.
    pub fn hold(&self, permission: Permission) -> SandboxSupport {
        if !self.confines(permission) {
            return SandboxSupport::Nothing;
        }
        let held = probe::status();
        match (held.files, held.network) {
            (true, true) => SandboxSupport::Sandbox,
            (true, false) => SandboxSupport::FilesOnly,
            (false, _) => SandboxSupport::Missing,
        }
    }

    fn judge<'a>(
        &'a self,
        permission: Permission,
        hold: SandboxSupport,
        rules: &'a Rules,
    ) -> VerdictInputs<'a> {
        // What is not known well is let run because it is confined; where it can't be, it is asked for.
        VerdictInputs {
            permission,
            rules,
            place: &self.place,
            readable: &self.readable,
            confined: hold == SandboxSupport::Sandbox,
        }
    }

    /// What "always" would allow for these accesses.
    pub fn always_prefix(&self, accesses: &[Access]) -> Option<String> {
        match accesses {
            [Access::Exec { command: text, cwd }]
            | [Access::Exec { command: text, cwd }, Access::Network] => {
                command_prefix::general_prefix(&command::judge(text, cwd, &self.place))
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

    /// What the user should know about rules that could not be read.
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

    fn state(&self) -> MutexGuard<'_, PolicyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
