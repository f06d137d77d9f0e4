//! What the user allowed beyond the permission level: for this session (in memory) and for good in this
//! project (a file in the state folder, never in the checkout).

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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
use base::file::{self, FileError};
use base::folder::update::update;
use base::protocol::lists::RuleRow;
use base::search::words::listed;

const MAX_BYTES: u64 = 4 * 1024 * 1024;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Stored {
    commands: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<String>,
    /// As `server.tool`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<String>,
    no_init_offer: bool,
}

impl Stored {
    fn grants(&self) -> impl Iterator<Item = SessionGrant> {
        let commands = self.commands.iter().cloned().map(SessionGrant::Prefix);
        let hosts = self.hosts.iter().cloned().map(SessionGrant::Host);
        commands.chain(hosts).chain(self.tools.iter().cloned().map(SessionGrant::Tool))
    }

    /// Where a grant is kept, and its words there.
    fn place<'a>(&'a mut self, grant: &'a SessionGrant) -> Option<(&'a mut Vec<String>, &'a str)> {
        match grant {
            SessionGrant::Prefix(words) => Some((&mut self.commands, words)),
            SessionGrant::Host(words) => Some((&mut self.hosts, words)),
            SessionGrant::Tool(words) => Some((&mut self.tools, words)),
            _ => None,
        }
    }

    fn add(&mut self, grant: &SessionGrant) {
        if let Some((list, words)) =
            self.place(grant).filter(|(list, words)| !list.iter().any(|kept| kept == words))
        {
            list.push(words.to_owned());
        }
    }

    fn remove(&mut self, gone: &[SessionGrant]) {
        for grant in gone {
            if let Some((list, words)) = self.place(grant) {
                list.retain(|kept| kept != words);
            }
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Rules {
    pub path: PathBuf,
    stored: Stored,
    session: Vec<SessionGrant>,
    turn: Vec<SessionGrant>,
    asked: Vec<ToolRule>,
    denied: Vec<ToolRule>,
    places: Vec<(SessionGrant, String)>,
    locked: bool,
    damage: Option<String>,
}

impl Rules {
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

    pub fn damage(&self) -> Option<String> {
        let why = self.damage.as_ref()?;
        let path = self.path.display();
        Some(format!(
            "{path} can't be read ({why}). You will be asked again about commands that were always allowed. \
             Correct the file or delete it."
        ))
    }

    pub fn always(&mut self, grant: SessionGrant) -> io::Result<()> {
        self.stored.add(&grant);
        self.grant(grant);
        self.save_without(&[])
    }

    pub fn grant(&mut self, grant: SessionGrant) {
        if !self.session.contains(&grant) {
            self.session.push(grant);
        }
    }

    /// Allows what a skill's tools need for this turn. Returns what that opens, and what opens nothing.
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
        self.session.iter().chain(&self.turn)
    }

    pub fn apply(&mut self, flags: FlagRules) {
        flags.granted.into_iter().for_each(|grant| self.grant(grant));
        self.asked.extend(flags.asked);
        self.denied.extend(flags.denied);
        self.places.extend(flags.places);
        if flags.locked {
            self.locked = true;
            self.stored = Stored { no_init_offer: self.stored.no_init_offer, ..Stored::default() };
        }
    }

    /// Whether only the administrator's rules, and the user's answers in this session, allow anything.
    pub fn are_locked(&self) -> bool {
        self.locked
    }

    /// The rule that allows a part of a command, and where it stands.
    pub fn allowed_by(&self, call: &AssessedCall) -> Option<String> {
        let covers =
            |prefix: &str| command_prefix::covers(call, self.writes_allowed(), std::iter::once(prefix));
        let placed = self.places.iter().find_map(|(grant, place)| match grant {
            SessionGrant::Prefix(prefix) if covers(prefix) => Some(place.clone()),
            _ => None,
        });
        let kept = || self.stored.commands.iter().find(|prefix| covers(prefix));
        placed.or_else(|| {
            Some(format!("`{}` is always allowed in this project, by {}", kept()?, self.path.display()))
        })
    }

    /// For a read-only subagent: what flags forbid, and whose pages it may read.
    pub fn for_reading(&self) -> Self {
        let granted = self.stored.grants().chain(self.session.iter().cloned());
        let hosts = granted.filter(|grant| matches!(grant, SessionGrant::Host(_)));
        Self { session: hosts.collect(), denied: self.denied.clone(), ..Self::default() }
    }

    /// Whether a tool is denied altogether, so that no model sees it. `names` are all of its names.
    pub fn removes(&self, names: &[String]) -> bool {
        self.denied.iter().any(|rule| rule.pattern.is_none() && names.iter().any(|name| rule.names(name)))
    }

    pub fn forbidden(&self, accesses: &[AssessedAccess], scope: &PathScope) -> Option<String> {
        flag_rules::forbidden(&self.denied, accesses, scope)
    }

    pub fn must_ask(&self, accesses: &[AssessedAccess], scope: &PathScope) -> Option<String> {
        flag_rules::must_ask(&self.asked, accesses, scope)
    }

    /// Files that no tool and no command may see or change.
    pub fn denied_paths(&self, workspace: &Path) -> DeniedPaths {
        DeniedPaths::of(&self.denied, workspace)
    }

    pub fn rows(&self) -> Vec<RuleRow> {
        let kept: Vec<SessionGrant> = self.stored.grants().collect();
        let session = self.session.iter().filter(|grant| !kept.contains(grant));
        let row = |kept| move |grant: &SessionGrant| RuleRow { text: grant.listed(), kept };
        kept.iter().map(row(true)).chain(session.map(row(false))).collect()
    }

    /// If saving fails, the rule is still gone from this session.
    pub fn remove(&mut self, rule: &RuleRow) -> io::Result<()> {
        self.session.retain(|grant| grant.listed() != rule.text);
        let removed: Vec<SessionGrant> =
            self.stored.grants().filter(|grant| grant.listed() == rule.text).collect();
        self.stored.remove(&removed);
        if removed.is_empty() { Ok(()) } else { self.save_without(&removed) }
    }

    pub fn forget_session(&mut self) {
        self.session.clear();
        self.turn.clear();
    }

    pub fn writes_allowed(&self) -> bool {
        self.granted().any(|grant| *grant == SessionGrant::Writes)
    }

    /// To a file of the workspace.
    pub fn write_allowed(&self, path: &Path, scope: &PathScope) -> bool {
        let names = |grant: &SessionGrant| matches!(grant, SessionGrant::WritesTo(pattern) if is_about_path(pattern, path, &scope.workspace));
        self.writes_allowed() || self.granted().any(names)
    }

    pub fn read_allowed(&self, path: &Path, scope: &PathScope) -> bool {
        self.granted().any(|grant| grant.reads(path, scope))
    }

    /// Whether this exact command was allowed for the session. What could destroy everything never is.
    pub fn command_allowed(&self, command: &AssessedCommand) -> bool {
        let is_it =
            |grant: &SessionGrant| matches!(grant, SessionGrant::Command(text) if *text == command.text);
        command.risk() != Some(Risk::Destroys) && self.granted().any(is_it)
    }

    pub fn call_allowed(&self, call: &AssessedCall) -> bool {
        let session = self.granted().filter_map(|grant| match grant {
            SessionGrant::Prefix(prefix) => Some(prefix.as_str()),
            _ => None,
        });
        let prefixes = self.stored.commands.iter().map(String::as_str).chain(session);
        command_prefix::covers(call, self.writes_allowed(), prefixes)
    }

    pub fn tool_allowed(&self, server: &str, tool: &str) -> bool {
        let grant = |tool: &str| SessionGrant::Tool(format!("{server}.{tool}"));
        self.allowed(&grant(tool)) || self.allowed(&grant("*"))
    }

    pub fn allowed(&self, grant: &SessionGrant) -> bool {
        self.granted().any(|one| one == grant) || self.stored.grants().any(|kept| kept == *grant)
    }

    /// Whether rules, or an approval of this exact command, allow all that it does beyond reading.
    pub fn covers(&self, command: &AssessedCommand) -> bool {
        let calls = command.calls.as_deref().unwrap_or_default();
        let mut beyond = calls.iter().filter(|call| call.assessment.risk != Risk::Reads).peekable();
        self.command_allowed(command) || beyond.peek().is_some() && beyond.all(|call| self.call_allowed(call))
    }

    pub fn offers_init(&self) -> bool {
        !self.stored.no_init_offer
    }

    pub fn decline_init(&mut self) -> io::Result<()> {
        self.stored.no_init_offer = true;
        self.save_without(&[])
    }

    /// Merges into the current file: another process may have added to it since we read it.
    fn save_without(&mut self, removed: &[SessionGrant]) -> io::Result<()> {
        let mut saved = Stored::default();
        update(&self.path, |old| {
            saved = match old.map(serde_json::from_slice::<Stored>) {
                Some(Ok(stored)) => stored,
                Some(Err(_)) => self.set_aside().map(|()| Stored::default())?,
                None => Stored::default(),
            };
            saved.no_init_offer |= self.stored.no_init_offer;
            self.stored.grants().for_each(|grant| saved.add(&grant));
            saved.remove(removed);
            Ok(Some(serde_json::to_vec_pretty(&saved)?))
        })?;
        (self.stored, self.damage) = (saved, None);
        Ok(())
    }

    /// An unreadable file may be the user's work with a typo, so it is kept under another name.
    fn set_aside(&self) -> io::Result<()> {
        std::fs::rename(&self.path, self.path.with_extension("json.damaged"))
    }
}

/// Tools that need no question, or ask their own.
const FREE: &str = "\
    Read Grep Glob LS Locate Recall TodoWrite Task Agent Skill \
    Note NotebookRead AskUser AskUserQuestion";

/// The grants, and the tools that open nothing.
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
    let rule = ToolRule::parse(tool).ok()?;
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

/// The prefix, if it is as specific as one that users are offered.
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

/// Alone and with an argument: some commands do more when they get one.
fn both(command: &str, scope: &PathScope) -> [AssessedCommand; 2] {
    [command.to_owned(), format!("{command} x")].map(|text| command::assess(&text, &scope.workspace, scope))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_keep_each_others_rules() {
        let dir = tempfile::tempdir().unwrap();
        let (mut one, mut two) = (Rules::load(dir.path()), Rules::load(dir.path()));
        one.always(SessionGrant::Prefix("cargo test".to_owned())).unwrap();
        two.always(SessionGrant::Prefix("pytest".to_owned())).unwrap();
        one.decline_init().unwrap();
        let all = Rules::load(dir.path());
        assert_eq!(all.stored.commands, ["cargo test", "pytest"]);
        assert!(!all.offers_init());
    }

    #[test]
    fn a_rule_that_is_removed_stays_removed() {
        let dir = tempfile::tempdir().unwrap();
        let mut rules = Rules::load(dir.path());
        rules.always(SessionGrant::Prefix("cargo test".to_owned())).unwrap();
        rules.grant(SessionGrant::Writes);
        rules.grant(SessionGrant::Command("a; b".to_owned()));
        let texts: Vec<(String, bool)> = rules.rows().into_iter().map(|row| (row.text, row.kept)).collect();
        let expected = [
            ("commands that begin with `cargo test`", true),
            ("changes to files in the workspace", false),
            ("the command `a; b`", false),
        ];
        assert_eq!(texts, expected.map(|(text, kept)| (text.to_owned(), kept)));
        let first = rules.rows().remove(0);
        rules.remove(&first).unwrap();
        assert_eq!(rules.rows().len(), 2, "the session's own grant of it is gone, too");
        rules.always(SessionGrant::Prefix("pytest".to_owned())).unwrap();
        assert_eq!(Rules::load(dir.path()).stored.commands, ["pytest"]);
    }

    #[test]
    fn a_damaged_file_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("rules.json"), "{\"commands\": [").unwrap();
        let mut rules = Rules::load(dir.path());
        assert!(rules.damage().is_some());
        rules.always(SessionGrant::Prefix("pytest".to_owned())).unwrap();
        assert_eq!(
            std::fs::read_to_string(dir.path().join("rules.json.damaged")).unwrap(),
            "{\"commands\": ["
        );
        assert_eq!(Rules::load(dir.path()).stored.commands, ["pytest"]);
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
