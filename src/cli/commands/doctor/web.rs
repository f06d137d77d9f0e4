//! Web search and readable hosts.

use super::findings::Findings;
use provider::search::Searcher;

pub fn check(findings: &mut Findings<'_>) {
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
    let line = format!("search {search}; pages by leave for each host{hosts}");
    findings.line("web", line);
}
