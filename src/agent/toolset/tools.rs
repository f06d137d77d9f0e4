//! Builds an agent's tools and the policy that decides on their calls.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::calls::dispatcher::Dispatcher;
use crate::calls::policy_engine::PolicyEngine;
use base::config::load::Loaded;
use base::protocol::claude_tools;
use guard::policy::flag_rules::FlagRules;
use guard::policy::rules::Rules;
use provider::search::Searcher;
use tools::api::ToolSource;
use tools::cx::ToolCx;
use tools::lsp::servers::{LanguageServers, ServersSetup};
use tools::on_demand::toolbox;
use tools::plan::skill::SkillTool;
use tools::skill::set::SkillSet;
use tools::web::state::WebState;

pub struct ToolParts<'a> {
    pub loaded: &'a Loaded,
    pub project_state: &'a Path,
    pub own_folders: &'a [PathBuf],
    pub skills: &'a Arc<SkillSet>,
    pub sources: &'a [Arc<dyn ToolSource>],
    pub flags: FlagRules,
    pub interactive: bool,
    pub small_window: bool,
}

pub fn dispatcher(mut cx: ToolCx, parts: ToolParts<'_>) -> Dispatcher {
    let ToolParts { loaded, project_state, own_folders, skills, sources, flags, interactive, small_window } =
        parts;
    cx.language_servers = LanguageServers::new(ServersSetup {
        workspace: cx.root.to_path_buf(),
        sandbox: loaded.work.sandbox.then(|| Arc::clone(&cx.sandbox)),
        setting: loaded.language_servers.clone(),
        projects: loaded.own.program_paths(),
    });
    let readable = skills.readable_with(cx.spill.folder());
    let mut rules = Rules::load(project_state);
    cx.web = Arc::new(web_state(loaded));
    rules.apply(flags);
    cx.denied = Arc::new(rules.denied_paths(&cx.root));
    let has = |name: &str| !rules.removes(&claude_tools::names(name));
    let mut tools = toolbox::tools(sources, &cx.web, has);
    tools.extend(SkillTool::boxed(skills));
    tools.retain(|tool| has(tool.name()));
    let policy = PolicyEngine::new(&loaded.work, rules, &cx.root, readable, own_folders);
    let left_out = toolbox::left_out(small_window, interactive, sources);
    Dispatcher::new(cx, Arc::new(policy), tools, interactive, &left_out)
}

/// Ignores a provider that can't be used: that is reported elsewhere.
fn web_state(loaded: &Loaded) -> WebState {
    let settings = loaded.provider.as_ref().filter(|_| loaded.web.search);
    let searcher = settings.and_then(|settings| Searcher::new(settings).ok().flatten());
    WebState::new(&loaded.web.private_hosts, searcher)
}
