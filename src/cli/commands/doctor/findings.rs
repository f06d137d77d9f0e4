//! What the checks find: where files are, how commands are confined, and what the user and the project have set up.

use crate::cli::setup::open::OpenedProject;
use agent::lists::status;
use base::config::files::source::SettingSource;
use base::config::paths;
use base::config::permission_rules::RuleSource;
use base::config::trusted::plugin;
use base::process::quiet;
use base::text::elide;
use guard::sandbox::probe as sandbox;
use provider::search::Searcher;
use tools::hook::listing;
use tools::lsp::programs;
use tools::mcp::{describe, servers};
use tools::skill::set::SkillSet;

pub struct Findings<'a> {
    pub opened: &'a OpenedProject,
    pub text: String,
    pub works: bool,
}

impl<'a> Findings<'a> {
    pub fn new(opened: &'a OpenedProject) -> Self {
        Self { opened, text: format!("mycode {}\n", env!("CARGO_PKG_VERSION")), works: true }
    }

    /// One fact; an empty name continues the previous one.
    pub fn line(&mut self, name: &str, value: impl AsRef<str>) {
        self.text.push_str(&format!("{name:<16}{}\n", value.as_ref()));
    }

    /// A separate sentence, such as `error: …`.
    pub fn sentence(&mut self, sentence: impl AsRef<str>) {
        self.text.push_str(&format!("{}\n", sentence.as_ref()));
    }
}

pub fn check(findings: &mut Findings<'_>) {
    let opened = findings.opened;
    findings.line("workspace", opened.workspace.display().to_string());
    let exists = |path: &std::path::Path| if path.exists() { "" } else { " (not found)" };
    let user = opened.paths.user_config();
    findings.line("user config", format!("{}{}", user.display(), exists(&user)));
    let project = paths::project_config(&opened.workspace);
    findings.line("project config", format!("{}{}", project.display(), exists(&project)));
    findings.line("state", opened.project_state.display().to_string());
    let level = opened.loaded.work.permission.into_str();
    findings.line("permission", format!("{level} in the chat, auto in exec unless set"));
    let reading = "the project, its repository, the system and toolchains; asks for the rest of your home folder (exec: --add-dir)";
    findings.line("reading", reading);
    check_sources(findings);
}

fn check_sources(findings: &mut Findings<'_>) {
    let loaded = &findings.opened.loaded;
    for SettingSource { key, value, place } in &loaded.origins {
        let locked = match loaded.admin.lock(key) {
            Some(by) if by == place => ", locked".to_owned(),
            Some(by) => format!(", locked by {by}"),
            None => String::new(),
        };
        findings.line("setting", format!("{key} = {value} ({place}{locked})"));
    }
    for RuleSource { place, lists, .. } in &loaded.rules {
        let lists = [("deny", &lists.deny), ("ask", &lists.ask), ("allow", &lists.allow)];
        for (kind, rules) in lists.into_iter().filter(|(_, rules)| !rules.is_empty()) {
            let rules = elide(&rules.join(", "), SHOWN_NAMES_CHARS);
            let locked = match loaded.admin.lock("permissions") {
                Some(by) if kind == "allow" && !loaded.admin.allows(place) => {
                    format!("; not used: locked by {by}")
                }
                _ => String::new(),
            };
            findings.line("rules", format!("{kind} {rules} ({place}{locked})"));
        }
    }
}

/// The variables that keep the model's commands from asking and paging.
pub fn check_environment(findings: &mut Findings<'_>) {
    let added = quiet::for_command(|name| std::env::var_os(name));
    let names = quiet::always().chain(added).map(|(name, value)| format!("{name}={value}"));
    findings.line("environment", names.collect::<Vec<_>>().join(" "));
}

pub fn check_sandbox(findings: &mut Findings<'_>) {
    let opened = findings.opened;
    if opened.loaded.work.sandbox {
        let held = sandbox::status();
        for layer in &held.rows {
            let state = if layer.available { "available" } else { "missing" };
            findings.line(&format!("  {}", layer.name), format!("{state}: {}", layer.detail));
        }
        let whole = match (held.files, held.network) {
            (true, true) => {
                "read-only and auto are enforced by the kernel (`.env` files in the workspace stay readable)"
            }
            (true, false) => {
                "file access is enforced by the kernel, network access is not: auto asks before unknown commands"
            }
            _ => {
                "unavailable: auto asks before commands that may leave the workspace; exec refuses read-only and auto"
            }
        };
        findings.line("sandbox", whole);
        for limit in held.limits() {
            findings.line("", limit);
        }
    } else {
        findings.line("sandbox", "off (sandbox = false)");
    }
}

const SHOWN_NAMES_CHARS: usize = 200;

pub fn check_rules(findings: &mut Findings<'_>) {
    let opened = findings.opened;
    let files = status::rules_files(&opened.workspace, &opened.project_state, &opened.loaded.config);
    findings.line("rules files", files);
}

pub fn check_skills(findings: &mut Findings<'_>) {
    let (skills, unusable) = SkillSet::read(&findings.opened.loaded.own.skills);
    let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    let shown = format!("{} ({})", names.len(), elide(&names.join(", "), SHOWN_NAMES_CHARS));
    findings.line("skills", if names.is_empty() { "none" } else { &shown });
    unusable.iter().for_each(|why| findings.line("", why));
}

pub fn check_plugins(findings: &mut Findings<'_>) {
    for plugin in plugin::installed(&findings.opened.paths.plugins()) {
        let state = if plugin.is_trusted() { "active" } else { "not active: this version isn't trusted" };
        findings.line("plugin", format!("{} from {} ({state})", plugin.record.name, plugin.record.source));
    }
}

pub fn check_mcp(findings: &mut Findings<'_>) {
    let loaded = &findings.opened.loaded;
    let (servers, unusable) = servers::configured(&loaded.own.mcp, loaded);
    for server in &servers {
        let (name, target, state) = (&server.name, server.shown(), describe::state(server));
        findings.line("MCP server", format!("{name}: {target} ({state})"));
    }
    unusable.iter().for_each(|problem| findings.line("MCP server", problem));
}

pub fn check_language_servers(findings: &mut Findings<'_>) {
    let opened = findings.opened;
    for (language, server) in programs::languages(&opened.workspace, &opened.loaded) {
        findings.line(&format!("  {language}"), server);
    }
}

pub fn check_hooks(findings: &mut Findings<'_>) {
    let opened = findings.opened;
    let text = listing::text(&opened.loaded.own.hooks, &opened.workspace);
    let mut lines = text.lines();
    findings.line("hooks", lines.next().unwrap_or("none"));
    lines.for_each(|line| findings.line("", line));
}

pub fn check_web(findings: &mut Findings<'_>) {
    let loaded = &findings.opened.loaded;
    let searcher = loaded.provider.as_ref().and_then(|settings| Searcher::new(settings).ok().flatten());
    let search = match (loaded.web.search, searcher.is_some()) {
        (true, true) => "by the model's server",
        (true, false) => {
            "none: this model's server has no search that mycode knows (an MCP server may have one)"
        }
        (false, true) => "off (web_search = \"provider\" turns on the model server's own search)",
        (false, false) => "off",
    };
    let hosts = match &*loaded.web.private_hosts {
        [] => String::new(),
        hosts => format!(", also from {}", hosts.join(", ")),
    };
    findings.line("web", format!("search {search}; web pages: asks for each host{hosts}"));
}
