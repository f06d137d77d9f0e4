//! The tools of an agent with their surroundings: what they work with, where those on demand come from, who decides which
//! calls run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::calls::dispatcher::Dispatcher;
use super::calls::policy_engine::PolicyEngine;
use super::session::recall::LogOriginals;
use crate::config::load::Loaded;
use crate::evidence::retriever::ContextRetriever;
use crate::hook::tool_names;
use crate::lsp::servers::{LanguageServers, ServersSetup};
use crate::mcp::client::connector::Place;
use crate::mcp::servers::{self, Servers};
use crate::mcp::source::McpSource;
use crate::policy::flag_rules::FlagRules;
use crate::policy::rules::Rules;
use crate::provider::search::Searcher;
use crate::sandbox::session::Sandbox;
use crate::session::list;
use crate::skill::set::SkillSet;
use crate::tool::cx::ToolCx;
use crate::tool::on_demand::source::ToolSource;
use crate::tool::on_demand::toolbox;
use crate::tool::output::Spill;
use crate::tool::plan::skill::SkillTool;
use crate::tool::web::state::WebState;

/// What tools work with, without a journal.
pub fn tool_context(
    workspace: &Path,
    project_state: &Path,
    own_folders: Vec<PathBuf>,
    retriever: ContextRetriever,
    originals: &Arc<LogOriginals>,
    skills: &SkillSet,
) -> ToolCx {
    let spill = Arc::new(Spill::new(project_state.join("tool-output")));
    let readable = skills.readable_with(spill.folder());
    let mut cx = ToolCx::new(workspace.to_owned(), spill);
    cx.sandbox = Arc::new(Sandbox::new(workspace.to_owned(), own_folders, readable));
    cx.originals = Some(Arc::clone(originals) as _);
    cx.evidence = Some(Arc::new(retriever));
    cx
}

/// What the tools of one agent are made from, beside their surroundings.
pub struct ToolParts<'a> {
    pub loaded: &'a Loaded,
    pub project_state: &'a Path,
    pub own_folders: &'a [PathBuf],
    pub skills: &'a Arc<SkillSet>,
    pub sources: &'a [Arc<dyn ToolSource>],
    /// What the flags of this run allow and forbid.
    pub flags: FlagRules,
    /// Whether somebody can answer questions.
    pub interactive: bool,
    pub small_window: bool,
}

/// The tools, and who decides which of their calls run.
pub fn dispatcher(mut cx: ToolCx, parts: ToolParts<'_>) -> Dispatcher {
    let ToolParts { loaded, project_state, own_folders, skills, sources, flags, interactive, small_window } =
        parts;
    cx.language_servers = LanguageServers::new(ServersSetup {
        workspace: cx.root.to_path_buf(),
        sandbox: loaded.work.sandbox.then(|| Arc::clone(&cx.sandbox)),
        setting: loaded.language_servers.clone(),
        projects: loaded.own.programs.clone(),
    });
    let readable = skills.readable_with(cx.spill.folder());
    let mut rules = Rules::load(project_state);
    cx.web = Arc::new(web_state(loaded));
    rules.apply(flags);
    let has = |name: &str| !rules.removes(&tool_names::names(name));
    let mut tools = toolbox::tools(sources, &cx.web, has);
    tools.extend(SkillTool::boxed(skills));
    tools.retain(|tool| has(tool.name()));
    let policy = PolicyEngine::new(&loaded.work, rules, &cx.root, readable, own_folders);
    Dispatcher::new(cx, Arc::new(policy), tools, interactive, small_window)
}

/// What the web tools may do. A provider that can't be used says so by itself.
fn web_state(loaded: &Loaded) -> WebState {
    let settings = loaded.provider.as_ref().filter(|_| loaded.web.search);
    let searcher = settings.and_then(|settings| Searcher::new(settings).ok().flatten());
    WebState::new(&loaded.web.private_hosts, searcher)
}

/// The MCP servers of a session, and what is wrong with others.
pub fn servers_of(cx: &ToolCx, loaded: &Loaded, own_folders: &[PathBuf]) -> (Arc<Servers>, Vec<String>) {
    let (servers, problems) = servers::read(&loaded.own.mcp, loaded.work.sandbox);
    let place = Place {
        root: cx.root.to_path_buf(),
        sandbox: Arc::clone(&cx.sandbox),
        state: own_folders.last().map(|state| state.join("mcp")),
        show: None,
    };
    (Arc::new(Servers::new(servers, place)), problems)
}

/// Where tools come from that are loaded on demand.
pub fn sources(servers: &Arc<Servers>) -> Vec<Arc<dyn ToolSource>> {
    vec![Arc::new(McpSource(Arc::clone(servers)))]
}

/// The tools without a session, for `mycode tool`: originals come from the project's last session.
pub fn tools_alone(
    loaded: &Loaded,
    workspace: &Path,
    project_state: &Path,
    own_folders: Vec<PathBuf>,
) -> Dispatcher {
    let originals = Arc::new(LogOriginals::default());
    if let Some(path) = list::last(project_state) {
        originals.follow(path);
    }
    let retriever = ContextRetriever::new(workspace, project_state);
    let skills = Arc::new(SkillSet::read(&loaded.own.skills).0);
    let cx = tool_context(workspace, project_state, own_folders.clone(), retriever, &originals, &skills);
    let sources = sources(&servers_of(&cx, loaded, &own_folders).0);
    let parts = ToolParts {
        loaded,
        project_state,
        own_folders: &own_folders,
        skills: &skills,
        sources: &sources,
        flags: FlagRules::default(),
        interactive: false,
        small_window: false,
    };
    dispatcher(cx, parts)
}
