//! Builds an agent's tools and the policy for their calls.

use std::sync::Arc;

use super::context::{self as own, ToolParts, ToolSetup};
use crate::calls::dispatcher::Dispatcher;
use crate::calls::policy_engine::PolicyEngine;
use base::model::call::ToolSpec;
use base::protocol::claude_tools;
use guard::policy::rules::Rules;
use provider::search::Searcher;
use tools::api::{TypedTool as _, object};
use tools::lsp::servers::{LanguageServers, ServersSetup};
use tools::on_demand::toolbox;
use tools::plan::skill::SkillTool;
use tools::run::bash::{Bash, KEEP_ARGUMENT};
use tools::web::state::WebState;

pub fn toolset(setup: ToolSetup<'_>) -> (Dispatcher, ToolParts) {
    let (mut cx, parts) = own::context(&setup);
    let ToolSetup { loaded, project_state, own_folders, flags, interactive, small_window, .. } = setup;
    cx.language_servers = LanguageServers::new(ServersSetup {
        workspace: cx.root.to_path_buf(),
        sandbox: loaded.work.sandbox.then(|| Arc::clone(&cx.sandbox)),
        setting: loaded.language_servers.clone(),
        plugins: loaded.own.servers.clone(),
        projects: loaded.own.program_paths(),
    });
    // An unusable provider is reported elsewhere.
    let settings = loaded.provider.as_ref().filter(|_| loaded.web.search);
    let searcher = settings.and_then(|settings| Searcher::new(settings).ok().flatten());
    cx.web = Arc::new(WebState::new(&loaded.web.private_hosts, searcher));
    let rules = Rules::new(flags.everywhere(&cx.root, &loaded.work.folders), project_state);
    cx.denied = Arc::new(rules.denied_paths(&cx.root));
    // Servers start before any command.
    cx.sandbox.mask(cx.denied.masks());
    let has = |name: &str| !rules.removes(&claude_tools::names(name));
    let mut tools = toolbox::tools(&parts.sources, &cx.web, has);
    tools.extend(SkillTool::boxed(&parts.skills));
    tools.retain(|tool| has(tool.name()));
    let mut readable = parts.skills.readable_with(cx.spill.folder());
    readable.extend_from_slice(&loaded.own.plugins);
    let policy = PolicyEngine::new(&loaded.work, rules, &cx.root, readable, own_folders);
    let left_out = toolbox::left_out(small_window, interactive, &parts.sources);
    (Dispatcher::new(cx, Arc::new(policy), tools, interactive, &left_out), parts)
}

pub fn described(specs: &[ToolSpec], tool: &str, more: &str) -> Arc<[ToolSpec]> {
    changed(specs, tool, |spec| spec.description = format!("{}{more}", spec.description).into())
}

/// Lets the model start services that outlive the run.
pub fn with_keep(specs: &[ToolSpec]) -> Arc<[ToolSpec]> {
    changed(specs, Bash::NAME, |spec| {
        let more = " keep: start a service that must keep running after this run.";
        spec.description = format!("{}{more}", spec.description).into();
        spec.schema = object(&format!("{}, {KEEP_ARGUMENT}", Bash::ARGUMENTS));
    })
}

fn changed(specs: &[ToolSpec], tool: &str, change: impl Fn(&mut ToolSpec)) -> Arc<[ToolSpec]> {
    let mut specs = specs.to_vec();
    specs.iter_mut().filter(|spec| &*spec.name == tool).for_each(change);
    specs.into()
}
