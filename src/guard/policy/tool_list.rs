//! What a skill's `allowed-tools` opens for its turn: at most what the user could allow "for this session".
//! Anything wider, such as `Bash` or `Bash(python:*)`, opens nothing, and the user is informed.

use super::command::{self, AssessedCommand};
use super::command_prefix::general_prefix;
use super::flag_rules;
use super::path_scope::PathScope;
use super::session_grant::SessionGrant;
use super::tool_rule::ToolRule;
use crate::policy::programs::assessment::Risk;
use base::search::words::listed;

/// Tools that need no question, or ask their own.
const FREE: &str = "\
    Read Grep Glob LS Locate Recall TodoWrite Task Agent Skill \
    Note NotebookRead AskUser AskUserQuestion";

/// The grants, and the tools that open nothing.
pub fn grants(tools: &[String], scope: &PathScope) -> (Vec<SessionGrant>, Vec<String>) {
    let (mut grants, mut unused) = (Vec::new(), Vec::new());
    for tool in tools.iter().filter(|tool| !listed(FREE, tool)) {
        match grant(tool, scope) {
            Some(grant) => grants.push(grant),
            None if only_reads(tool, scope) => {}
            None => unused.push(tool.clone()),
        }
    }
    (grants, unused)
}

fn grant(tool: &str, scope: &PathScope) -> Option<SessionGrant> {
    let rule = ToolRule::parse(tool).ok()?;
    match (rule.tool.as_str(), rule.pattern.as_deref()) {
        ("Bash", None) => None,
        ("Bash", Some(command)) => match command.strip_suffix(":*").or_else(|| command.strip_suffix(" *")) {
            Some(prefix) => safe_prefix(prefix.trim(), scope).map(SessionGrant::Prefix),
            None if command.contains('*') => None,
            None => Some(SessionGrant::Command(command.to_owned())),
        },
        _ => flag_rules::grant(&rule).ok()?.filter(|grant| {
            matches!(grant, SessionGrant::Writes | SessionGrant::Host(_) | SessionGrant::Tool(_))
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
    fn only_what_a_user_could_have_answered() {
        let dir = tempfile::tempdir().unwrap();
        let scope = PathScope::new(&dir.path().canonicalize().unwrap(), &[], &[]);
        let tools = "Read|Bash|Bash(git commit:*)|Bash(git log:*)|Bash(git tag *)|Bash(git:*)|Bash(python:*)|Bash(npm run lint *)|Bash(rm -rf:*)|Bash(make check)|\
                     Write|mcp__github__list_issues|mcp__db|WebFetch(domain:docs.rs)|WebFetch|Bash(echo *|Frob";
        let tools: Vec<String> = tools.split('|').map(str::to_owned).collect();
        let (grants, unused) = grants(&tools, &scope);
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
