//! The context of an agent's tools, and the sources of tools on demand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::session::recall::LogOriginals;
use base::config::load::Loaded;
use evidence::retriever::ContextRetriever;
use guard::sandbox::session::Sandbox;
use tools::api::ToolSource;
use tools::cx::ToolCx;
use tools::mcp::client::connector::Place;
use tools::mcp::servers::{self, Servers};
use tools::mcp::source::McpSource;
use tools::output::Spill;
use tools::skill::set::SkillSet;

pub fn tool_context(
    workspace: &Path,
    project_state: &Path,
    own_folders: Vec<PathBuf>,
    retriever: ContextRetriever,
    originals: &Arc<LogOriginals>,
    skills: &SkillSet,
    added: &[PathBuf],
) -> ToolCx {
    let spill = Arc::new(Spill::new(project_state.join("tool-output")));
    let mut readable = skills.readable_with(spill.folder());
    readable.extend_from_slice(added);
    let mut cx = ToolCx::new(workspace.to_owned(), spill);
    cx.sandbox = Arc::new(Sandbox::new(workspace.to_owned(), own_folders, readable));
    cx.originals = Some(Arc::clone(originals) as _);
    cx.evidence = Some(Arc::new(retriever));
    cx
}

/// The MCP servers of a session, and the problems with others.
pub fn servers_of(cx: &ToolCx, loaded: &Loaded, own_folders: &[PathBuf]) -> (Arc<Servers>, Vec<String>) {
    let (servers, problems) = servers::read(&loaded.own.mcp, loaded.work.sandbox);
    let place = Place {
        host: cx.host.clone(),
        root: cx.root.to_path_buf(),
        sandbox: Arc::clone(&cx.sandbox),
        state: own_folders.last().map(|state| state.join("mcp")),
        show: None,
    };
    (Arc::new(Servers::new(servers, place)), problems)
}

pub fn sources(servers: &Arc<Servers>) -> Vec<Arc<dyn ToolSource>> {
    vec![Arc::new(McpSource(Arc::clone(servers)))]
}
