//! What the user's flags allow and deny in one run, whatever its permission level: `--allow 'Bash(cargo
//! test)'`, `--deny 'Edit(migrations/**)'`. A rule that can't be applied is an error, never ignored.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::access::Access;
use super::command::AssessedAccess;
use super::denied_paths::touches;
use super::path_scope::PathScope;
use super::session_grant::SessionGrant;
use super::tool_rule::{Match, ToolRule, is_about_command};
use crate::sandbox::rule_pattern::{is_name, mentions};
use base::config::permission_rules::RuleSource;
use base::path;
use base::protocol::approval::FORBIDDEN;
use base::repository;
use base::search::fuzzy;
use base::search::glob::like;
use base::search::words::listed;
use base::text::elide;

/// Claude Code's tools without a counterpart here (its tools reference, November 2026).
const THEIRS: &str = "CronCreate CronDelete CronList EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree LSP \
    ListMcpResourcesTool Monitor NotebookEdit NotebookRead PowerShell ReadMcpResourceTool RemoteTrigger SendMessage \
    SlashCommand TeamCreate TeamDelete ToolSearch Workflow";
const SHOWN_EXCEPTIONS: usize = 60;
const DENIED_BY_PART: [&str; 6] = ["Bash", "Edit", "Write", "MultiEdit", "Read", "WebFetch"];

#[derive(Clone, Debug, Default)]
pub struct FlagRules {
    pub granted: Vec<(SessionGrant, ToolRule)>,
    /// The user is always asked about these, even if something else allows them.
    pub asked: Vec<ToolRule>,
    pub denied: Vec<ToolRule>,
    /// Rules in other programs' files that can't be used, and why.
    pub unusable: Vec<String>,
    /// Only the administrator's rules can allow anything.
    pub locked: bool,
}

impl FlagRules {
    /// A value may contain several rules, separated by commas. `ours` translates other tool names; `names` are all tools' names.
    pub fn parse(
        sources: &[RuleSource],
        ours: impl Fn(&str) -> String,
        names: &[String],
    ) -> Result<Self, String> {
        let mut all = Self::default();
        for source in sources {
            let place = (!source.place.is_empty()).then(|| Arc::from(source.place.as_str()));
            let lists = &source.lists;
            for (kind, texts) in [("allow", &lists.allow), ("ask", &lists.ask), ("deny", &lists.deny)] {
                // Rules about other programs' own tools do no harm here.
                let is_moot = |rule: &ToolRule| {
                    source.foreign
                        && kind != "allow"
                        && listed(THEIRS, &rule.tool)
                        && (rule.pattern.is_none() || rule.tool == "PowerShell")
                };
                let check = |rule: &ToolRule| {
                    if source.foreign && kind == "allow" { Ok(()) } else { exists(rule, names) }
                };
                for text in texts.iter().flat_map(|value| split(value)) {
                    let added = ToolRule::parse(&text)
                        .map(|rule| ToolRule { tool: ours(&rule.tool), place: place.clone(), ..rule })
                        .and_then(|rule| match is_moot(&rule) {
                            true => Ok(()),
                            false => rule
                                .of_folder(source.folder.as_deref())
                                .into_iter()
                                .try_for_each(|rule| all.add(kind, rule, check)),
                        });
                    match added {
                        Ok(()) => {}
                        Err(why) if source.foreign => all.unusable.push(format!("{kind} {text} ({why})")),
                        Err(why) if place.is_some() => {
                            return Err(format!("{}: {kind} {text}: {why}", source.place));
                        }
                        Err(why) => return Err(format!("--{kind} {text}: {why}")),
                    }
                }
            }
        }
        Ok(all)
    }

    /// A task's worktree is inside its project, so rules about files apply to the files of both. Names also apply in the
    /// repository around the workspace and in `added` folders, and paths where links lead.
    pub fn everywhere(mut self, workspace: &Path, added: &[PathBuf]) -> Self {
        let own = workspace.ancestors().find(|up| up.ends_with(".mycode"));
        let project = own.and_then(Path::parent);
        let around = repository::root(workspace).filter(|root| *root != workspace);
        let others = around.into_iter().chain(added.iter().map(PathBuf::as_path));
        for rules in [&mut self.asked, &mut self.denied] {
            let in_project: Vec<ToolRule> = rules
                .iter()
                .flat_map(|rule| project.map(|project| rule.elsewhere(project)))
                .flatten()
                .collect();
            let names = rules.iter().filter(|rule| rule.pattern.as_deref().is_some_and(is_name_below));
            let elsewhere: Vec<ToolRule> =
                names.flat_map(|rule| others.clone().flat_map(|folder| rule.elsewhere(folder))).collect();
            rules.extend(in_project.into_iter().chain(elsewhere));
            let real: Vec<ToolRule> = rules.iter().filter_map(|rule| rule.behind_links(workspace)).collect();
            rules.extend(real);
        }
        self
    }

    fn add(
        &mut self,
        kind: &str,
        rule: ToolRule,
        check: impl Fn(&ToolRule) -> Result<(), String>,
    ) -> Result<(), String> {
        if kind == "allow" {
            if !rule.except.is_empty() {
                return Err("only ask and deny take exceptions".to_owned());
            }
            let granted = grant(&rule);
            let Ok(Some(grant)) = granted else { return check(&rule).and(granted.map(drop)) };
            self.granted.push((grant, rule));
            return Ok(());
        }
        check(&rule)?;
        if (rule.pattern.is_some() || !rule.except.is_empty()) && !DENIED_BY_PART.contains(&&*rule.tool) {
            return Err(format!("only {} take something in brackets", DENIED_BY_PART.join(", ")));
        }
        if kind == "ask" {
            self.asked.push(rule)
        } else {
            self.denied.push(rule)
        }
        Ok(())
    }

    /// Denials on the command line that match none of these MCP servers.
    pub fn denied_servers_unlike(&self, names: &[String]) -> Vec<String> {
        let is_of = |rest: &str, name: &String| {
            rest.strip_prefix(name.as_str()).is_some_and(|more| more.is_empty() || more.starts_with("__"))
        };
        let flags = self.denied.iter().filter(|rule| rule.place.is_none());
        let of_servers = flags.filter_map(|rule| Some((rule, rule.tool.strip_prefix("mcp__")?)));
        let unlike = of_servers
            .filter(|(_, rest)| !rest.starts_with('*') && !names.iter().any(|name| is_of(rest, name)));
        unlike.map(|(rule, _)| rule.tool.clone()).collect()
    }
}

fn is_name_below(pattern: &str) -> bool {
    is_name(pattern.strip_prefix("**/").unwrap_or(pattern))
}

fn exists(rule: &ToolRule, names: &[String]) -> Result<(), String> {
    let of_server = rule.tool.contains('.') || rule.tool.starts_with("mcp__");
    if of_server || names.iter().any(|name| rule.names(name)) {
        return Ok(());
    }
    let near = fuzzy::nearest_name(&rule.tool, names.iter().map(String::as_str));
    let meant = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
    Err(format!("there is no such tool{meant}"))
}

fn split(text: &str) -> Vec<String> {
    let (mut rules, mut depth) = (vec![String::new()], 0);
    for c in text.chars() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        match rules.last_mut() {
            Some(_) if c == ',' && depth == 0 => rules.push(String::new()),
            Some(rule) => rule.push(c),
            None => {}
        }
    }
    rules.retain(|rule| !rule.trim().is_empty());
    rules
}

/// What a rule grants; `None` if nothing needs to be granted.
pub fn grant(rule: &ToolRule) -> Result<Option<SessionGrant>, String> {
    let whole = |pattern: &&str| ["*", "**", "./**", "/**"].contains(pattern);
    let pattern = rule.pattern.as_deref().filter(|pattern| !whole(pattern));
    let refused = |why: &str| Err(why.to_owned());
    let server = rule.tool.strip_prefix("mcp__").map(|rest| rest.split_once("__").unwrap_or((rest, "*")));
    Ok(Some(match (rule.tool.as_str(), pattern) {
        ("Bash", None) => SessionGrant::Prefix("*".to_owned()),
        ("Bash", Some(pattern)) => {
            // There, `df*` covers more programs; here it ends at the word.
            let with_any = |front: &str| format!("{} *", front.trim_end_matches(':'));
            let words = pattern.strip_suffix('*').map_or_else(|| pattern.to_owned(), with_any);
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            if words.strip_suffix(" *").unwrap_or(&words).contains('*') {
                return refused("a * can only be at the end, as in Bash(git log *)");
            }
            SessionGrant::Prefix(words)
        }
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", None) => SessionGrant::Writes,
        ("Edit" | "Write" | "MultiEdit" | "NotebookEdit", Some(pattern)) => {
            SessionGrant::WritesTo(pattern.to_owned())
        }
        // That means the project itself.
        ("Read" | "Glob" | "Grep" | "LS", None) if rule.pattern.is_some() => return Ok(None),
        ("Read" | "Glob" | "Grep" | "LS", None) => SessionGrant::ReadFolder(PathBuf::from("/")),
        ("Read" | "Glob" | "Grep" | "LS", Some(place)) => {
            let place = place.strip_prefix('/').filter(|rest| rest.starts_with('/')).unwrap_or(place);
            let place = place.trim_end_matches("**").trim_end_matches('/');
            if place.contains('*') || !place.starts_with(['/', '~']) {
                return refused(
                    "name a folder or file outside of the workspace, such as Read(//etc/hosts) or Read(~/notes/**)",
                );
            }
            let place = path::resolve(&PathBuf::from("/"), place).absolute;
            if place.is_dir() { SessionGrant::ReadFolder(place) } else { SessionGrant::ReadPath(place) }
        }
        ("WebFetch", Some(pattern)) => match host_of(pattern) {
            (host, "" | "*" | "**") => SessionGrant::Host(host),
            _ => return refused("a rule is about a whole host, as in WebFetch(docs.rs)"),
        },
        ("WebFetch", None) => return refused("name the host, as in WebFetch(docs.rs)"),
        // These need no permission.
        ("Skill" | "Task" | "Agent" | "SlashCommand", Some(_)) => return Ok(None),
        (_, Some(_)) => return refused("only Bash, Edit, Read and WebFetch take something in brackets"),
        (_, None) if server.is_some() => {
            let (server, tool) = server.unwrap_or_default();
            SessionGrant::Tool(format!("{server}.{tool}"))
        }
        (tool, None) if tool.contains('.') => SessionGrant::Tool(tool.to_owned()),
        _ => return Ok(None),
    }))
}

/// The host that a rule names, in the form in which permission is asked for, and what stands behind it.
fn host_of(pattern: &str) -> (String, &str) {
    let address = pattern.strip_prefix("domain:").unwrap_or(pattern);
    let address = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (host, rest) = address.split_once('/').unwrap_or((address, ""));
    let host = host.to_ascii_lowercase();
    let bare = host.strip_prefix("www.").filter(|bare| bare.contains('.'));
    (bare.unwrap_or(&host).to_owned(), rest)
}

/// The rule that grants exactly this, as text and parsed; `None` if it can't outlive the session.
pub fn rule_of(granted: &SessionGrant) -> Option<(String, ToolRule)> {
    let text = match granted {
        SessionGrant::Prefix(words) => format!("Bash({words})"),
        SessionGrant::Host(host) => format!("WebFetch({host})"),
        SessionGrant::Tool(tool) => format!("mcp__{}", tool.replacen('.', "__", 1)),
        _ => return None,
    };
    let rule = ToolRule::parse(&text).ok()?;
    (grant(&rule) == Ok(Some(granted.clone()))).then_some((text, rule))
}

/// Whether a list of rules contains this one.
pub fn holds(value: &str, rule: &ToolRule) -> bool {
    let is_it = |one: ToolRule| one.pattern == rule.pattern && one.tool.eq_ignore_ascii_case(&rule.tool);
    split(value).iter().any(|text| ToolRule::parse(text).is_ok_and(is_it))
}

pub fn shown(kind: &str, rule: &ToolRule) -> String {
    let mut pattern = rule.pattern.as_ref().map_or(String::new(), |pattern| format!("({pattern})"));
    if !rule.except.is_empty() {
        pattern.push_str(&format!(" except ({})", elide(&rule.except.join(") ("), SHOWN_EXCEPTIONS)));
    }
    match &rule.place {
        Some(place) => format!("{kind} {}{pattern} in {place}", rule.tool),
        None => format!("--{kind} {}{pattern}", rule.tool),
    }
}

fn first<'r>(rules: &'r [ToolRule], accesses: &[AssessedAccess], scope: &PathScope) -> Option<&'r ToolRule> {
    rules.iter().find(|rule| accesses.iter().any(|access| is_about(rule, access, scope)))
}

pub fn forbidden(rules: &[ToolRule], accesses: &[AssessedAccess], scope: &PathScope) -> Option<String> {
    let rule = first(rules, accesses, scope)?;
    let who = FORBIDDEN[usize::from(rule.place.is_none())];
    let of_git = |one: &AssessedAccess| {
        let calls = one.command.iter().flat_map(|command| command.calls.iter().flatten());
        calls.into_iter().any(|call| call.call.name() == "git")
    };
    let exclude = match &rule.pattern {
        Some(pattern) if rule.names("Read") && accesses.iter().any(of_git) => {
            format!("; git leaves it out with -- . ':(exclude){pattern}'")
        }
        _ => String::new(),
    };
    Some(format!("{who} ({}){exclude}", shown("deny", rule)))
}

pub fn must_ask(rules: &[ToolRule], accesses: &[AssessedAccess], scope: &PathScope) -> Option<String> {
    Some(format!("a rule asks first ({})", shown("ask", first(rules, accesses, scope)?)))
}

fn is_about(rule: &ToolRule, assessed: &AssessedAccess, scope: &PathScope) -> bool {
    let any = |tools: &[&str]| tools.iter().any(|tool| rule.names(tool));
    let pattern = rule.pattern.as_deref();
    match &assessed.access {
        Access::Exec { command, .. } => {
            let calls = assessed.command.as_ref().and_then(|command| command.calls.as_ref().ok());
            let is_about = |pattern| {
                let left = calls.iter().flat_map(|calls| calls.iter().map(|one| &one.call));
                let left = left.filter(|call| !rule.excepts(call));
                let understood = calls.is_some();
                match is_about_command(pattern, understood.then_some(left)) {
                    Match::Yes => true,
                    Match::Maybe => !understood || mentions(pattern, command),
                    Match::No => false,
                }
            };
            let touched = |reads: bool| {
                let Some(command) = assessed.command.as_ref().filter(|_| pattern.is_some()) else {
                    return false;
                };
                let calls = command.calls.as_deref().unwrap_or_default();
                calls.iter().any(|call| touches(rule, reads, call, &scope.workspace))
            };
            any(&["Bash"]) && (rule.is_whole() || is_about(pattern.unwrap_or("*")))
                || any(&["Edit", "Write", "MultiEdit"]) && touched(false)
                || any(&["Read"]) && touched(true)
        }
        // What may not be read may not be changed either: a refused edit would show it.
        Access::Write(path) | Access::WriteOwn(path) => {
            (any(&["Edit", "Write", "MultiEdit"]) || any(&["Read"]) && path.exists())
                && rule.is_about_path(path, &scope.workspace)
        }
        Access::Read(path) => any(&["Read"]) && rule.is_about_path(path, &scope.workspace),
        Access::Host(host) => {
            let bare = host.rsplit_once(':').map_or(&**host, |(bare, _)| bare);
            let names = [host, bare, &format!("www.{bare}")];
            let is_about = |pattern: &str| names.iter().any(|name| like(&host_of(pattern).0, name));
            any(&["WebFetch"])
                && pattern.is_none_or(is_about)
                && !rule.except.iter().any(|pattern| is_about(pattern))
        }
        Access::Remote { server, tool, .. } => {
            let names =
                [format!("{server}.{tool}"), format!("mcp__{server}__{tool}"), format!("mcp__{server}")];
            names.iter().any(|name| rule.names(name))
        }
        Access::Network => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use base::config::permission_rules::PermissionLists;

    use super::*;

    #[test]
    fn flags_become_grants() {
        let ours = |name: &str| name.replace("bash", "Bash");
        let names = ["Bash", "Edit", "Grep", "Read", "Task", "WebFetch"].map(str::to_owned);
        let parse = |allow: &[&str], deny: &[&str]| {
            let of = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect();
            let lists = PermissionLists { allow: of(allow), ask: Vec::new(), deny: of(deny) };
            FlagRules::parse(&[RuleSource { lists, ..RuleSource::default() }], ours, &names)
        };
        let granted =
            |rules: FlagRules| rules.granted.into_iter().map(|(grant, _)| grant).collect::<Vec<_>>();
        let allow = |text: &str| parse(&[text], &[]).map(granted);
        let deny = |text: &str| parse(&[], &[text]).map(|rules| rules.denied);
        assert_eq!(deny("bash(git push:*),Task").unwrap()[0].tool, "Bash");
        assert!(deny("Grep(secrets/**)").unwrap_err().contains("only Bash, Edit"));
        assert_eq!(
            allow("Bash(cargo test), Edit,github.*,mcp__git__log,Task").unwrap(),
            [
                SessionGrant::Prefix("cargo test".to_owned()),
                SessionGrant::Writes,
                SessionGrant::Tool("github.*".to_owned()),
                SessionGrant::Tool("git.log".to_owned()),
            ]
        );
        assert_eq!(allow("Bash(git log:*)").unwrap(), [SessionGrant::Prefix("git log *".to_owned())]);
        for rule in ["domain:docs.rs", "www.docs.rs", "domain:DOCS.rs", "https://www.docs.rs/*"] {
            let rule = format!("WebFetch({rule})");
            assert_eq!(allow(&rule).unwrap(), [SessionGrant::Host("docs.rs".to_owned())], "{rule}");
        }
        let denies = |rule: &str, host: &str| {
            let scope = PathScope::new(Path::new("/w"), &[], &[]);
            let access = AssessedAccess::new(&Access::Host(host.to_owned()), &scope);
            forbidden(&deny(&format!("WebFetch({rule})")).unwrap(), &[access], &scope).is_some()
        };
        for (rule, host) in [
            ("domain:www.docs.rs", "docs.rs"),
            ("domain:*.docs.rs", "docs.rs"),
            ("domain:DOCS.rs", "docs.rs"),
            ("domain:docs.rs", "docs.rs:8443"),
            ("https://docs.rs/*", "docs.rs"),
            ("docs.rs:8443", "docs.rs:8443"),
        ] {
            assert!(denies(rule, host), "{rule} {host}");
        }
        assert!(!denies("docs.rs:8443", "docs.rs") && !denies("docs.rs", "api.docs.rs"));
        assert_eq!(deny("Bsh(x)").unwrap_err(), "--deny Bsh(x): there is no such tool; did you mean 'Bash'?");
        assert_eq!(allow("Nothing").unwrap_err(), "--allow Nothing: there is no such tool");
        assert_eq!(allow("Edit(src/**)").unwrap(), [SessionGrant::WritesTo("src/**".to_owned())]);
        assert_eq!(allow("Bash(df*)"), allow("Bash(df:*)"));
        let answered = |grant: SessionGrant| rule_of(&grant).map(|(text, _)| text);
        let tool = SessionGrant::Tool("git.log".to_owned());
        assert_eq!(answered(tool).as_deref(), Some("mcp__git__log"));
        assert_eq!(answered(SessionGrant::Prefix("make a*b".to_owned())), None);
        for wrong in ["Bash(* push)", "WebFetch", "WebFetch(docs.rs/std/*)", "Todo(x)", "Read(src)", "(x"] {
            assert!(allow(wrong).is_err(), "{wrong}");
        }
    }
}
