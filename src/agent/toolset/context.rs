//! The context of an agent's tools, and the sources of on-demand tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::session::recall::LogOriginals;
use base::config::files::load::Loaded;
use base::config::trusted::json_files;
use base::protocol::host::HostProgram;
use evidence::retriever::ContextRetriever;
use guard::policy::flag_rules::FlagRules;
use guard::sandbox::session::Sandbox;
use tools::api::ToolSource;
use tools::cx::ToolCx;
use tools::mcp::client::connector::ServerPlace;
use tools::mcp::servers::{self, Servers};
use tools::mcp::source::McpSource;
use tools::output::Spill;
use tools::skill::set::SkillSet;

pub struct ToolSetup<'a> {
    pub loaded: &'a Loaded,
    pub workspace: &'a Path,
    pub project_state: &'a Path,
    pub own_folders: &'a [PathBuf],
    pub flags: FlagRules,
    pub interactive: bool,
    pub small_window: bool,
    pub host: Option<Arc<dyn HostProgram>>,
}

pub struct ToolParts {
    pub skills: Arc<SkillSet>,
    pub originals: Arc<LogOriginals>,
    pub servers: Arc<Servers>,
    pub sources: Vec<Arc<dyn ToolSource>>,
    /// Problems with skills and servers.
    pub unusable: Vec<String>,
}

/// Reads the skills and the list of MCP servers.
pub fn context(setup: &ToolSetup<'_>) -> (ToolCx, ToolParts) {
    let ToolSetup { loaded, workspace, project_state, own_folders, .. } = *setup;
    let (skills, mut unusable) = SkillSet::read(&loaded.own.skills);
    let spill = Arc::new(Spill::new(project_state.join("tool-output")));
    let mut readable = skills.readable_with(spill.folder());
    readable.extend(loaded.work.folders.iter().chain(&loaded.own.plugins).cloned());
    let originals = Arc::new(LogOriginals::default());
    let mut cx = ToolCx::new(workspace.to_owned(), spill);
    let sandbox = Sandbox::new(workspace.to_owned(), own_folders.to_vec(), readable);
    cx.sandbox = Arc::new(sandbox.with(&loaded.work.folders));
    cx.originals = Some(Arc::clone(&originals) as _);
    cx.folders = loaded.work.folders.clone().into();
    let retriever = ContextRetriever::new(workspace, project_state).with_folders(&cx.folders);
    cx.evidence = Some(Arc::new(retriever));
    cx.host.clone_from(&setup.host);
    // Redact our own API keys wherever they turn up.
    loaded.keys().for_each(|key| cx.redactor.know(key.expose()));
    let (servers, problems) = servers::configured(&loaded.own.mcp, loaded);
    let problems = Some(problems.join("\n")).filter(|told| !told.is_empty());
    unusable.extend(problems.and_then(|told| json_files::news(told, project_state, "servers-unusable")));
    let place = ServerPlace {
        host: cx.host.clone(),
        root: workspace.to_owned(),
        sandbox: Arc::clone(&cx.sandbox),
        state: own_folders.last().map_or(project_state, PathBuf::as_path).join("mcp"),
        show: None,
    };
    let servers = Arc::new(Servers::new(servers, place));
    let sources: Vec<Arc<dyn ToolSource>> = vec![Arc::new(McpSource(Arc::clone(&servers)))];
    (cx, ToolParts { skills: Arc::new(skills), originals, servers, sources, unusable })
}
