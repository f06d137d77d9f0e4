//! The permission level and the user's rules at run time. The dispatcher queries them; answers and `/permission`
//! change them, even during a turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::config::mode::Mode;
use base::config::settings::{Permission, WorkSettings};
use base::search::words::listed;
use context::rules::rules_file;
use guard::policy::access::Access;
use guard::policy::command::{self, AssessedAccess, AssessedCall, AssessedCommand};
use guard::policy::command_prefix;
use guard::policy::path_scope::PathScope;
use guard::policy::programs::assessment::{Assessment, Risk};
use guard::policy::rules::Rules;
use guard::policy::session_grant::SessionGrant;
use guard::policy::verdict::{CommandVerdict, Verdict, VerdictInputs};
use guard::sandbox::probe;
use guard::sandbox::spec::{Confinement, SandboxLevel};
use guard::shell::interpret::call::Call;
use parking_lot::{Mutex, MutexGuard};

const OTHER_USERS: &str = "sudo su doas pkexec ssh scp sftp rsync";

struct PolicyState {
    permission: Permission,
    mode: Mode,
    /// The rules file that the user requested with `/init`.
    rules_file_allowed: Option<PathBuf>,
    ask_before_notes: bool,
    commits_wanted: bool,
}

impl PolicyState {
    fn level(&self) -> Permission {
        self.permission.in_mode(self.mode)
    }
}

pub struct PolicyEngine {
    state: Mutex<PolicyState>,
    rules: Mutex<Rules>,
    scope: PathScope,
    readable: Vec<PathBuf>,
    sandbox: bool,
    most_permission: Permission,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxSupport {
    /// Turned off by the level or the user's settings.
    Nothing,
    Sandbox,
    /// This machine can't block the network.
    FilesOnly,
    /// Turned on, but this machine has no sandbox.
    Missing,
}

/// A tool call with its analyzed commands. Made once per call by [`PolicyEngine::assess`].
pub struct AssessedToolCall(Vec<AssessedAccess>);

impl AssessedToolCall {
    fn commands(&self) -> impl Iterator<Item = &AssessedCommand> {
        self.0.iter().filter_map(|one| one.command.as_ref())
    }

    fn programs(&self) -> impl Iterator<Item = &AssessedCall> {
        self.commands().flat_map(|command| command.calls.iter().flatten())
    }

    /// The programs that its commands run, as far as they can be parsed.
    pub fn calls(&self) -> Arc<[Call]> {
        self.programs().map(|one| one.call.clone()).collect()
    }

    /// Each program in its commands, and what it does.
    pub fn parts(&self) -> Vec<String> {
        self.programs().map(|one| format!("{}: {}", one.shown(), one.assessment.reason)).collect()
    }

    pub fn runs_command(&self) -> bool {
        self.commands().next().is_some()
    }

    fn declares_network(&self) -> bool {
        self.0.iter().any(|one| one.access == Access::Network)
    }

    fn without_network(&self) -> impl Iterator<Item = &AssessedAccess> {
        self.0.iter().filter(|one| one.access != Access::Network)
    }

    /// The highest risk; `None` if there are no commands or one isn't understood.
    fn risk(&self) -> Option<Risk> {
        self.commands().map(AssessedCommand::risk).collect::<Option<Vec<Risk>>>()?.into_iter().max()
    }

    fn risks(&self) -> impl Iterator<Item = &Assessment> {
        self.programs().map(|call| &call.assessment)
    }

    /// The protected files that git changes, if it needs approval only for them (and the network).
    fn opens(&self) -> Option<Vec<PathBuf>> {
        let opens = || self.risks().flat_map(|one| one.opens.iter().cloned()).collect();
        (self.risk() == Some(Risk::Protected)).then(opens)
    }

    fn needs_only_network(&self) -> bool {
        self.risk() == Some(Risk::Network)
    }

    /// They don't exist in a user namespace. All arguments must be known, so that rules about files can be applied.
    fn needs_other_users(&self) -> bool {
        let needs = |one: &AssessedCall| {
            let name = one.call.name();
            (listed(OTHER_USERS, name) || name == "git" && one.assessment.risk == Risk::Network)
                && one.call.argv.iter().all(|arg| arg.certain().is_some())
        };
        self.risk().is_some() && self.programs().all(needs) && probe::status().layers.user_namespace
    }

    fn is_covered(&self, rules: &Rules) -> bool {
        self.commands().all(|command| rules.covers(command))
    }
}

impl PolicyEngine {
    /// `own` are our folders, and `readable` the parts of them that tools may read.
    pub fn new(
        work: &WorkSettings,
        rules: Rules,
        workspace: &Path,
        readable: Vec<PathBuf>,
        own: &[PathBuf],
    ) -> Self {
        let state = PolicyState {
            permission: work.permission.min(work.most_permission),
            mode: work.mode,
            rules_file_allowed: None,
            ask_before_notes: false,
            commits_wanted: true,
        };
        let seen: Vec<&Path> = readable.iter().map(PathBuf::as_path).collect();
        let own: Vec<&Path> = own.iter().map(PathBuf::as_path).collect();
        let scope = PathScope::new(workspace, &seen, &own).with(&work.folders);
        Self {
            state: Mutex::new(state),
            rules: Mutex::new(rules),
            scope,
            readable,
            sandbox: work.sandbox,
            most_permission: work.most_permission,
        }
    }

    /// Locks the rules: don't hold the guard while calling other methods.
    pub fn rules(&self) -> MutexGuard<'_, Rules> {
        self.rules.lock()
    }

    pub fn permission(&self) -> Permission {
        self.state().permission
    }

    pub fn most_permission(&self) -> Permission {
        self.most_permission
    }

    /// Returns the effective level: the administrator may allow less.
    pub fn set_permission(&self, permission: Permission) -> Permission {
        let allowed = permission.min(self.most_permission);
        self.state().permission = allowed;
        allowed
    }

    /// Returns whether it changed.
    pub fn become_read_only(&self) -> bool {
        std::mem::replace(&mut self.state().permission, Permission::ReadOnly) != Permission::ReadOnly
    }

    pub fn mode(&self) -> Mode {
        self.state().mode
    }

    pub fn set_mode(&self, mode: Mode) {
        self.state().mode = mode;
    }

    pub fn assess(&self, accesses: &[Access]) -> AssessedToolCall {
        AssessedToolCall(accesses.iter().map(|access| AssessedAccess::new(access, &self.scope)).collect())
    }

    pub fn decide(&self, call: &AssessedToolCall) -> Verdict {
        let (state, rules) = (self.state(), self.rules());
        if let Some(reason) = rules.forbidden(&call.0, &self.scope) {
            return Verdict::Deny { reason };
        }
        // The user requested this file with `/init`; in `ask`, the diff is still shown first.
        if let [AssessedAccess { access: Access::Write(path), .. }] = call.0.as_slice()
            && state.permission == Permission::Auto
            && state.rules_file_allowed.as_ref() == Some(path)
        {
            return Verdict::Allow;
        }
        // Probing the sandbox takes milliseconds, so do it only for commands.
        let support = if call.runs_command() { self.support(state.level()) } else { SandboxSupport::Nothing };
        let inputs = self.inputs(&state, support, &rules);
        let asks =
            state.ask_before_notes && matches!(state.permission, Permission::Ask | Permission::AcceptEdits);
        let verdict = match inputs.decide(&call.0) {
            // A rule that allows the command also allows its network access.
            Verdict::Ask { reason } if call.declares_network() => match inputs.decide(call.without_network())
            {
                Verdict::Allow if call.is_covered(&rules) => Verdict::Allow,
                Verdict::Ask { reason: other } if call.needs_only_network() => Verdict::Ask { reason: other },
                Verdict::Ask { reason: other } => {
                    Verdict::Ask { reason: format!("{other}, and needs network access") }
                }
                _ => Verdict::Ask { reason },
            },
            Verdict::Allow if asks && call.0.iter().any(|one| matches!(one.access, Access::WriteOwn(_))) => {
                Verdict::Ask { reason: "maintenance shows each note before it is kept".to_owned() }
            }
            verdict => verdict,
        };
        explained(self.or_asked(&rules, &call.0, verdict), state.permission, support)
    }

    /// A rule may demand a question about an allowed call; it is also named in other questions.
    fn or_asked(&self, rules: &Rules, call: &[AssessedAccess], verdict: Verdict) -> Verdict {
        let asks = || rules.must_ask(call, &self.scope);
        match verdict {
            Verdict::Allow => asks().map_or(Verdict::Allow, |reason| Verdict::Ask { reason }),
            Verdict::Ask { reason } => match asks() {
                Some(rule) => Verdict::Ask { reason: format!("{rule}; {reason}") },
                None => Verdict::Ask { reason },
            },
            verdict => verdict,
        }
    }

    /// Never for control files, secrets, other places, commands that can't be parsed, or what a rule asks about.
    pub fn may_be_waived(&self, call: &AssessedToolCall) -> bool {
        let rules = self.rules();
        !rules.are_locked()
            && rules.must_ask(&call.0, &self.scope).is_none()
            && call.0.iter().all(|one| one.may_be_waived(&self.scope))
    }

    /// Whether all files that a call would change may be read without asking.
    pub fn may_read(&self, call: &AssessedToolCall) -> bool {
        let (state, rules) = (self.state(), self.rules());
        let inputs = self.inputs(&state, SandboxSupport::Nothing, &rules);
        call.0.iter().all(|one| match &one.access {
            Access::Write(path) => {
                let read = AssessedAccess { access: Access::Read(path.clone()), command: None };
                inputs.decide([&read]) == Verdict::Allow
            }
            _ => false,
        })
    }

    /// During `/init`, `auto` may write the rules file in the workspace's root without asking. Returns the prompt.
    pub fn begin_init(&self) -> String {
        let workspace = &self.scope.workspace;
        self.state().rules_file_allowed = Some(workspace.join(rules_file::of_init(workspace)));
        rules_file::init_prompt(workspace)
    }

    pub fn end_init(&self) {
        self.state().rules_file_allowed = None;
    }

    pub fn want_commits(&self, wanted: bool) {
        self.state().commits_wanted = wanted;
    }

    /// Whether the call commits in `auto` although the user didn't mention commits.
    pub fn is_unwanted_commit(&self, call: &AssessedToolCall) -> bool {
        let state = self.state();
        let runs =
            |subs: &str| call.programs().any(|one| one.git().is_some_and(|git| listed(subs, &git.sub)));
        // A worktree in a temporary folder is part of the user's repository.
        let is_new = runs("init clone") && !runs("worktree");
        let is_commit = |one: &AssessedCall| {
            one.git().is_some_and(|git| listed("commit am cherry-pick revert", &git.sub))
                && !(is_new && one.is_in_scratch(&self.scope))
        };
        state.permission == Permission::Auto && !state.commits_wanted && call.programs().any(is_commit)
    }

    pub fn ask_before_notes(&self, ask: bool) {
        self.state().ask_before_notes = ask;
    }

    /// Checks a command that runs in `folder`, program by program. `support` overrides the real sandbox.
    pub fn check(
        &self,
        text: &str,
        folder: &Path,
        support: Option<SandboxSupport>,
    ) -> (AssessedCommand, CommandVerdict) {
        let command = command::assess(text, folder, &self.scope);
        let access = Access::Exec { command: text.to_owned(), cwd: folder.to_owned() };
        let call = [AssessedAccess { access, command: Some(command.clone()) }];
        let (state, rules) = (self.state(), self.rules());
        let support = support.unwrap_or_else(|| self.support(state.level()));
        let inputs = self.inputs(&state, support, &rules);
        let mut found = inputs.command(&command);
        found.verdict = match rules.forbidden(&call, &self.scope) {
            Some(reason) => Verdict::Deny { reason },
            None => explained(self.or_asked(&rules, &call, found.verdict), state.permission, support),
        };
        (command, found)
    }

    /// How an allowed command is confined; `approved` if the user approved this call. What the level allows
    /// or what needs only the network stays confined; approval just adds the network. Anything else that the
    /// user or a rule allowed runs unconfined, except for files that rules deny.
    pub fn confinement(&self, call: &AssessedToolCall, approved: bool) -> Confinement {
        let found = self.by_level(call, approved);
        let may_see =
            || self.rules().denied_paths(&self.scope.workspace).is_empty() || call.needs_other_users();
        if found == Confinement::Free && call.runs_command() && !may_see() {
            Confinement::Masked
        } else {
            found
        }
    }

    fn by_level(&self, call: &AssessedToolCall, approved: bool) -> Confinement {
        let state = self.state();
        let level = state.level();
        if !call.runs_command() || !self.confines(level) {
            return Confinement::Free;
        }
        let support = self.support(level);
        // Without a sandbox, only commands that the user allowed or that certainly just read get here.
        if support == SandboxSupport::Missing {
            return Confinement::Free;
        }
        let no_rules = Rules::default();
        let inputs = self.inputs(&state, support, &no_rules);
        let by_level = inputs.decide(call.without_network()) == Verdict::Allow;
        let connects = call.needs_only_network();
        let network = call.declares_network() || call.risks().any(|one| one.risk == Risk::Network);
        let opens = call.opens();
        match level {
            Permission::ReadOnly => {
                Confinement::Confined { level: SandboxLevel::ReadOnly, network: false, opened: Vec::new() }
            }
            Permission::Ask | Permission::AcceptEdits if by_level && !approved => {
                Confinement::Confined { level: SandboxLevel::ReadOnly, network, opened: Vec::new() }
            }
            Permission::Auto if by_level || connects || opens.is_some() => {
                let settings = call.commands().flat_map(AssessedCommand::settings);
                let opened = opens.unwrap_or_default().into_iter().chain(settings).collect();
                Confinement::Confined { level: SandboxLevel::Workspace, network, opened }
            }
            _ => Confinement::Free,
        }
    }

    /// Whether a service of this call may run unconfined and outlive the run, by the level or a user's rule.
    pub fn may_keep(&self, call: &AssessedToolCall) -> bool {
        let level = self.state().level();
        level != Permission::ReadOnly && (!self.confines(level) || call.is_covered(&self.rules()))
    }

    /// Whether it runs a command or a remote tool that may do more than read.
    pub fn may_change(&self, call: &AssessedToolCall) -> bool {
        let on_server = |one: &AssessedAccess| matches!(one.access, Access::Remote { reads: false, .. });
        call.runs_command() && call.risk() != Some(Risk::Reads) || call.0.iter().any(on_server)
    }

    pub fn confines(&self, permission: Permission) -> bool {
        self.sandbox && permission != Permission::Full
    }

    /// Whether denied files can be hidden from all commands. Commands that the user approves run outside the sandbox.
    pub fn can_mask(&self, interactive: bool) -> bool {
        let (status, level) = (probe::status(), self.permission());
        let confined = matches!(level, Permission::ReadOnly | Permission::Auto) && self.confines(level);
        status.layers.namespaces || confined && status.files && !interactive
    }

    pub fn support(&self, permission: Permission) -> SandboxSupport {
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

    fn inputs<'a>(
        &'a self,
        state: &PolicyState,
        support: SandboxSupport,
        rules: &'a Rules,
    ) -> VerdictInputs<'a> {
        // Unknown commands may run if they are confined; otherwise the user is asked.
        VerdictInputs {
            permission: state.permission,
            mode: state.mode,
            rules,
            scope: &self.scope,
            readable: &self.readable,
            confined: support == SandboxSupport::Sandbox,
        }
    }

    pub fn always_grant(&self, call: &AssessedToolCall) -> Option<SessionGrant> {
        let mut rest = call.without_network();
        let (Some(only), None) = (rest.next(), rest.next()) else { return None };
        if self.rules().are_locked() {
            return None;
        }
        let grant = match (&only.command, &only.access) {
            (Some(command), _) => command_prefix::general_prefix(command).map(SessionGrant::Prefix),
            (None, Access::Host(_) | Access::Remote { .. }) => self.session_grants(call).pop(),
            _ => None,
        };
        grant.filter(Rules::can_keep)
    }

    /// The folder outside the workspace, if it is all that the call needs.
    pub fn folder_to_add(&self, call: &AssessedToolCall) -> Option<PathBuf> {
        match self.session_grants(call).as_slice() {
            [SessionGrant::ReadFolder(folder)] => Some(folder.clone()),
            _ => None,
        }
    }

    /// What "for this session" would allow, in words; `None` if only this call can be allowed.
    pub fn session_scope(&self, call: &AssessedToolCall) -> Option<String> {
        let grants: Vec<String> = self.session_grants(call).iter().map(SessionGrant::text).collect();
        (!grants.is_empty()).then(|| grants.join(", "))
    }

    pub fn allow_for_session(&self, call: &AssessedToolCall) {
        for grant in self.session_grants(call) {
            self.rules().grant(grant);
        }
    }

    fn session_grants(&self, call: &AssessedToolCall) -> Vec<SessionGrant> {
        SessionGrant::all(&call.0, &self.scope)
    }

    pub fn allow_for_turn(&self, tools: &[String]) -> (Vec<String>, Vec<String>) {
        self.rules().allow_tools(tools, &self.scope)
    }

    fn state(&self) -> MutexGuard<'_, PolicyState> {
        self.state.lock()
    }
}

fn explained(verdict: Verdict, permission: Permission, support: SandboxSupport) -> Verdict {
    match verdict {
        Verdict::Ask { reason } if permission == Permission::Auto && support == SandboxSupport::Missing => {
            Verdict::Ask { reason: format!("{reason} (no sandbox on this machine)") }
        }
        verdict => verdict,
    }
}
