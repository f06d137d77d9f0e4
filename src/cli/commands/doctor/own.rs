//! What the user and the project have set up: rules files, skills, hooks, web search, MCP and language servers.

use super::findings::Findings;
use agent::lists::status;
use base::text::elide;
use provider::search::Searcher;
use tools::hook::listing;
use tools::lsp::programs;
use tools::mcp::{describe, servers};
use tools::skill::set::SkillSet;

const SHOWN_NAMES_CHARS: usize = 200;

pub fn check_rules(findings: &mut Findings<'_>) {
    let opened = findings.opened;
    let files = status::rules_files(&opened.workspace, &opened.project_state, &opened.loaded.config);
    findings.line("rules files", files);
}

pub fn check_skills(findings: &mut Findings<'_>) {
    let (skills, unusable) = SkillSet::read(&findings.opened.loaded.own.skills);
    let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    findings.line(
        "skills",
        match names.len() {
            0 => "none".to_owned(),
            count => format!("{count} ({})", elide(&names.join(", "), SHOWN_NAMES_CHARS)),
        },
    );
    unusable.iter().for_each(|why| findings.line("", why));
}

pub fn check_mcp(findings: &mut Findings<'_>) {
    let loaded = &findings.opened.loaded;
    let (servers, unusable) = servers::read(&loaded.own.mcp, loaded.work.sandbox);
    for server in &servers {
        findings
            .line("MCP server", format!("{}: {} ({})", server.name, server.shown(), describe::state(server)));
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
    let searches = || {
        let settings = loaded.provider.as_ref()?;
        Searcher::new(settings).ok().flatten()
    };
    let search = match (loaded.web.search, searches().is_some()) {
        (true, true) => "by the model's server",
        (true, false) => {
            "none: this model's server has no search that mycode knows (an MCP server may have one)"
        }
        (false, true) => "off (web_search = \"provider\" switches on that of the model's server)",
        (false, false) => "off",
    };
    let hosts = match &*loaded.web.private_hosts {
        [] => String::new(),
        hosts => format!(", also from {}", hosts.join(", ")),
    };
    let line = format!("search {search}; web pages: asks for each host{hosts}");
    findings.line("web", line);
}
