//! MCP server definitions: the user's own, and a project's, which need the user's trust in their exact
//! contents because they say what is started.

use std::path::Path;

use super::agent_files::AgentFile;
use crate::{file, path};

/// In a project; the first one is shared with Claude Code.
const OF_PROJECT: [&str; 2] = [".mcp.json", ".mycode/mcp_servers.json"];
const OF_USER: &str = "mcp_servers.json";
const MAX_BYTES: u64 = 1024 * 1024;

pub fn of_user(config: &Path) -> Vec<AgentFile> {
    read(config, &[OF_USER])
}

/// Without files that a link brings in from outside.
pub fn of_project(workspace: &Path) -> Vec<AgentFile> {
    let inside = |file: &AgentFile| path::follow(&file.path).starts_with(workspace);
    read(workspace, &OF_PROJECT).into_iter().filter(inside).collect()
}

fn read(folder: &Path, names: &[&str]) -> Vec<AgentFile> {
    let paths = names.iter().map(|name| folder.join(name));
    paths.filter_map(|path| Some(AgentFile { text: file::small_text(&path, MAX_BYTES)?, path })).collect()
}
