//! What the user allowed beyond the permission level: by rules in files and flags, by "always" answers (stored as rules in a
//! file of the project's state, never in the checkout), and for this session or turn (in memory).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::command::{self, AssessedAccess, AssessedCall, AssessedCommand};
use super::command_prefix;
use super::command_prefix::general_prefix;
use super::denied_paths::DeniedPaths;
use super::flag_rules::{self, FlagRules};
use super::path_scope::PathScope;
use super::session_grant::SessionGrant;
use super::tool_rule::ToolRule;
use crate::policy::programs::assessment::Risk;
use crate::sandbox::rule_pattern::is_about_path;
use base::config::files::answers;
use base::folder::update::update;
use base::protocol::lists::RuleRow;
use base::search::words::listed;

#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// The file with "always" answers.
    answers: PathBuf,
    /// Grants by rules in files and flags.
    ruled: Vec<(SessionGrant, ToolRule)>,
    session: Vec<SessionGrant>,
    turn: Vec<SessionGrant>,
    asked: Vec<ToolRule>,
    denied: Vec<ToolRule>,
    locked: bool,
}

impl Rules {
    pub fn new(flags: FlagRules, project_state: &Path) -> Self {
        let FlagRules { granted: ruled, asked, denied, locked, .. } = flags;
        Self { answers: answers::path(project_state), ruled, asked, denied, locked, ..Self::default() }
    }

    pub fn can_keep(grant: &SessionGrant) -> bool {
        flag_rules::rule_of(grant).is_some()
    }

    pub fn always(&mut self, grant: SessionGrant) -> io::Result<()> {
        self.grant(grant.clone());
        if let Some((text, rule)) = flag_rules::rule_of(&grant) {
            answers::add(&self.answers, &text)?;
            let place = Some(Arc::from(self.answers.to_string_lossy()));
            self.ruled.push((grant, ToolRule { place, ..rule }));
        }
        Ok(())
    }

    pub fn grant(&mut self, grant: SessionGrant) {
        if !self.session.contains(&grant) {
            self.session.push(grant);
        }
    }

    /// Allows what a skill's tools need for this turn. Returns what was allowed, and which tools allow nothing.
    pub fn allow_tools(&mut self, tools: &[String], scope: &PathScope) -> (Vec<String>, Vec<String>) {
        if self.locked {
            return (Vec::new(), tools.to_vec());
        }
        let (grants, unused) = tool_grants(tools, scope);
        let said = grants.iter().map(SessionGrant::listed).collect();
        self.turn.extend(grants);
        (said, unused)
    }

    pub fn forget_turn(&mut self) {
        self.turn.clear();
    }

    fn granted(&self) -> impl Iterator<Item = &SessionGrant> {
        self.ruled.iter().map(|(grant, _)| grant).chain(&self.session).chain(&self.turn)
    }

    /// Whether only the administrator's rules and the user's answers in this session can allow anything.
    pub fn are_locked(&self) -> bool {
        self.locked
    }

    /// The rule that allows a call of a command, and where it is.
    pub fn allowed_by(&self, call: &AssessedCall) -> Option<String> {
        let covers = |(grant, rule): &(SessionGrant, ToolRule)| match grant {
            SessionGrant::Prefix(prefix) => {
                let prefix = std::iter::once(prefix.as_str());
                command_prefix::covers(call, self.writes_allowed(), prefix)
                    .then(|| flag_rules::shown("allow", rule))
            }
            _ => None,
        };
        self.ruled.iter().find_map(covers)
    }

    /// For a read-only sub-agent: all denials, and the hosts it may fetch from.
    pub fn for_reading(&self) -> Self {
        let granted = self.ruled.iter().map(|(grant, _)| grant).chain(&self.session);
        let hosts = granted.filter(|grant| matches!(grant, SessionGrant::Host(_)));
        Self { session: hosts.cloned().collect(), denied: self.denied.clone(), ..Self::default() }
    }

    /// Whether a tool is denied completely, so that no model sees it. `names` are all of its names.
    pub fn removes(&self, names: &[String]) -> bool {
        self.denied.iter().any(|rule| rule.is_whole() && names.iter().any(|name| rule.names(name)))
    }

    pub fn forbidden(&self, accesses: &[AssessedAccess], scope: &PathScope) -> Option<String> {
        flag_rules::forbidden(&self.denied, accesses, scope)
    }

    pub fn must_ask(&self, accesses: &[AssessedAccess], scope: &PathScope) -> Option<String> {
        flag_rules::must_ask(&self.asked, accesses, scope)
    }

    /// Files that no tool or command may see or change.
    pub fn denied_paths(&self, workspace: &Path) -> DeniedPaths {
        DeniedPaths::of(&self.denied, workspace)
    }

    pub fn rows(&self) -> Vec<RuleRow> {
        let is_ruled = |grant: &SessionGrant| self.ruled.iter().any(|(ruled, _)| ruled == grant);
        let session = self.session.iter().filter(|grant| !is_ruled(grant));
        let session = session.map(|grant| RuleRow { text: grant.listed(), kept: false });
        self.ruled.iter().map(|ruled| self.row(ruled)).chain(session).collect()
    }

    fn row(&self, (grant, rule): &(SessionGrant, ToolRule)) -> RuleRow {
        let kept = rule.place.as_deref() == Some(&*self.answers.to_string_lossy());
        let text = grant.listed();
        let text = if kept { text } else { format!("{text} ({})", flag_rules::shown("allow", rule)) };
        RuleRow { text, kept }
    }

    /// Removes a stored answer from its file, any other rule only from this session. If saving fails, it is still removed here.
    pub fn remove(&mut self, row: &RuleRow) -> io::Result<()> {
        let (gone, left) =
            std::mem::take(&mut self.ruled).into_iter().partition(|ruled| self.row(ruled) == *row);
        let gone: Vec<(SessionGrant, ToolRule)> = gone;
        self.ruled = left;
        self.session.retain(|grant| grant.listed() != row.text && gone.iter().all(|(one, _)| one != grant));
        let mut answered = gone.iter().filter(|_| row.kept);
        answered
            .try_for_each(|(_, rule)| answers::remove(&self.answers, |text| flag_rules::holds(text, rule)))
    }

    pub fn forget_session(&mut self) {
        self.session.clear();
        self.turn.clear();
    }

    pub fn writes_allowed(&self) -> bool {
        self.granted().any(|grant| *grant == SessionGrant::Writes)
    }

    /// Whether writing to a file of the workspace is allowed.
    pub fn write_allowed(&self, path: &Path, scope: &PathScope) -> bool {
        let names = |grant: &SessionGrant| matches!(grant, SessionGrant::WritesTo(pattern) if is_about_path(pattern, path, &scope.workspace));
        self.writes_allowed() || self.granted().any(names)
    }

    pub fn read_allowed(&self, path: &Path, scope: &PathScope) -> bool {
        self.granted().any(|grant| grant.reads(path, scope))
    }

    /// Whether this exact command was allowed for the session. Commands that could destroy everything never are.
    pub fn command_allowed(&self, command: &AssessedCommand) -> bool {
        let is_it =
            |grant: &SessionGrant| matches!(grant, SessionGrant::Command(text) if *text == command.text);
        command.risk() != Some(Risk::Destroys) && self.granted().any(is_it)
    }

    pub fn call_allowed(&self, call: &AssessedCall) -> bool {
        let prefixes = self.granted().filter_map(|grant| match grant {
            SessionGrant::Prefix(prefix) => Some(prefix.as_str()),
            _ => None,
        });
        command_prefix::covers(call, self.writes_allowed(), prefixes)
    }

    pub fn tool_allowed(&self, server: &str, tool: &str) -> bool {
        let grant = |tool: &str| SessionGrant::Tool(format!("{server}.{tool}"));
        self.allowed(&grant(tool)) || self.allowed(&grant("*"))
    }

    pub fn allowed(&self, grant: &SessionGrant) -> bool {
        self.granted().any(|one| one == grant)
    }

    /// Whether rules, or an approval of this exact command, cover everything that it does besides reading.
    pub fn covers(&self, command: &AssessedCommand) -> bool {
        let calls = command.calls.as_deref().unwrap_or_default();
        let mut beyond = calls.iter().filter(|call| call.assessment.risk != Risk::Reads).peekable();
        self.command_allowed(command) || beyond.peek().is_some() && beyond.all(|call| self.call_allowed(call))
    }

    pub fn offers_init(&self) -> bool {
        !self.no_init_offer().exists()
    }

    pub fn decline_init(&self) -> io::Result<()> {
        update(&self.no_init_offer(), |_| Ok(Some(Vec::new())))
    }

    fn no_init_offer(&self) -> PathBuf {
        self.answers.with_file_name("no-init-offer")
    }
}

/// Tools that need no permission or ask for it themselves.
const FREE: &str = "\
    Read Grep Glob LS Locate Recall TodoWrite Task Agent Skill \
    Note NotebookRead AskUser AskUserQuestion";

/// The grants, and the tools that allow nothing.
pub fn tool_grants(tools: &[String], scope: &PathScope) -> (Vec<SessionGrant>, Vec<String>) {
    let (mut grants, mut unused) = (Vec::new(), Vec::new());
    for tool in tools.iter().filter(|tool| !listed(FREE, tool)) {
        match tool_grant(tool, scope) {
            Some(grant) => grants.push(grant),
            None if only_reads(tool, scope) => {}
            None => unused.push(tool.clone()),
        }
    }
    (grants, unused)
}

fn tool_grant(tool: &str, scope: &PathScope) -> Option<SessionGrant> {
    let rule = ToolRule::parse(tool).ok().filter(|rule| rule.except.is_empty())?;
    match (rule.tool.as_str(), rule.pattern.as_deref()) {
        ("Bash", None) => None,
        ("Bash", Some(command)) => match command.strip_suffix(":*").or_else(|| command.strip_suffix(" *")) {
            Some(prefix) => safe_prefix(prefix.trim(), scope).map(SessionGrant::Prefix),
            None if command.contains('*') => None,
            None => Some(SessionGrant::Command(command.to_owned())),
        },
        _ => flag_rules::grant(&rule).ok()?.filter(|grant| {
            use SessionGrant::{Host, Tool, Writes, WritesTo};
            matches!(grant, Writes | WritesTo(_) | Host(_) | Tool(_))
        }),
    }
}

/// The prefix, if it is as specific as the one that users are offered.
fn safe_prefix(prefix: &str, scope: &PathScope) -> Option<String> {
    let general = both(prefix, scope).iter().find_map(general_prefix)?;
    let rest = prefix.strip_prefix(&general)?;
    (rest.is_empty() || rest.starts_with(' ')).then(|| prefix.to_owned())
}

fn only_reads(tool: &str, scope: &PathScope) -> bool {
    let inside = tool.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')'));
    let command = inside.map(|inside| inside.trim_end_matches(":*").trim_end_matches(" *"));
    command.is_some_and(|command| both(command, scope).iter().all(|one| one.risk() == Some(Risk::Reads)))
}

/// Without and with an argument, because some commands do more with one.
fn both(command: &str, scope: &PathScope) -> [AssessedCommand; 2] {
    [command.to_owned(), format!("{command} x")].map(|text| command::assess(&text, &scope.workspace, scope))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn kept(folder: &Path) -> Vec<String> {
        answers::parse(&std::fs::read_to_string(answers::path(folder)).unwrap()).unwrap().allow
    }

    #[test]
    fn two_processes_keep_each_others_answers() {
        let dir = tempfile::tempdir().unwrap();
        let rules = || Rules::new(FlagRules::default(), dir.path());
        let (mut one, mut two) = (rules(), rules());
        one.always(SessionGrant::Prefix("cargo test".to_owned())).unwrap();
        two.always(SessionGrant::Host("docs.rs".to_owned())).unwrap();
        two.always(SessionGrant::Host("docs.rs".to_owned())).unwrap();
        assert_eq!(kept(dir.path()), ["WebFetch(docs.rs)", "Bash(cargo test)"]);
    }

    #[test]
    fn a_rule_that_is_removed_stays_removed() {
        let dir = tempfile::tempdir().unwrap();
        let rule = ToolRule::parse("Bash(make)").unwrap();
        let granted = vec![(SessionGrant::Prefix("make".to_owned()), rule)];
        let mut rules = Rules::new(FlagRules { granted, ..FlagRules::default() }, dir.path());
        rules.always(SessionGrant::Prefix("cargo test".to_owned())).unwrap();
        rules.grant(SessionGrant::Writes);
        rules.grant(SessionGrant::Command("a; b".to_owned()));
        let texts: Vec<(String, bool)> = rules.rows().into_iter().map(|row| (row.text, row.kept)).collect();
        let expected = [
            ("commands that begin with `make` (--allow Bash(make))", false),
            ("commands that begin with `cargo test`", true),
            ("changes to files in the workspace", false),
            ("the command `a; b`", false),
        ];
        assert_eq!(texts, expected.map(|(text, kept)| (text.to_owned(), kept)));
        let answer = rules.rows().remove(1);
        rules.remove(&answer).unwrap();
        assert_eq!(rules.rows().len(), 3, "the session's own grant of it is gone, too");
        rules.always(SessionGrant::Prefix("pytest".to_owned())).unwrap();
        assert_eq!(kept(dir.path()), ["Bash(pytest)"]);
        rules.forget_session();
        assert_eq!(rules.rows().len(), 2, "rules of files and flags hold for the next session");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tool_list_tests {
    use super::*;

    #[test]
    fn only_what_a_user_could_have_answered() {
        let dir = tempfile::tempdir().unwrap();
        let scope = PathScope::new(&dir.path().canonicalize().unwrap(), &[], &[]);
        let tools = "Read|Bash|Bash(git commit:*)|Bash(git log:*)|Bash(git tag *)|Bash(git:*)|Bash(python:*)|Bash(npm run lint *)|Bash(rm -rf:*)|Bash(make check)|\
                     Write|mcp__github__list_issues|mcp__db|WebFetch(domain:docs.rs)|WebFetch|Bash(echo *|Frob";
        let tools: Vec<String> = tools.split('|').map(str::to_owned).collect();
        let (grants, unused) = tool_grants(&tools, &scope);
        assert_eq!(
            grants,
            [
                SessionGrant::Prefix("git commit".to_owned()),
                SessionGrant::Prefix("git tag".to_owned()),
                SessionGrant::Prefix("npm run lint".to_owned()),
                SessionGrant::Command("make check".to_owned()),
                SessionGrant::Writes,
                SessionGrant::Tool("github.list_issues".to_owned()),
                SessionGrant::Tool("db.*".to_owned()),
                SessionGrant::Host("docs.rs".to_owned()),
            ]
        );
        assert_eq!(
            unused,
            ["Bash", "Bash(git:*)", "Bash(python:*)", "Bash(rm -rf:*)", "WebFetch", "Bash(echo *", "Frob"]
        );
    }
}
