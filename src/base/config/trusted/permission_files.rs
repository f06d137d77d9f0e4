//! The permission rules in Claude Code's project settings. What they allow needs the user's trust in exactly that list.

use std::path::Path;

use serde_json::Value;

use super::agent_files::AgentFile;
use crate::{file, path};

const OF_PROJECT: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
const MAX_BYTES: u64 = 1024 * 1024;

/// The settings' names and texts, without files that a link brings in from outside.
pub fn read_all(workspace: &Path) -> Vec<(&'static str, String)> {
    let inside = |name: &&str| path::follow(&workspace.join(name)).starts_with(workspace);
    let read = |name: &'static str| Some((name, file::small_text(&workspace.join(name), MAX_BYTES)?));
    OF_PROJECT.into_iter().filter(inside).filter_map(read).collect()
}

/// What the settings allow, if anything.
pub fn of_project(workspace: &Path) -> Vec<AgentFile> {
    let allowed = |(name, text): (&str, String)| {
        let settings: Value = serde_json::from_str(&text).ok()?;
        let allow = settings["permissions"]["allow"].as_array().filter(|list| !list.is_empty())?;
        Some(AgentFile { path: workspace.join(name), text: Value::from(allow.clone()).to_string() })
    };
    read_all(workspace).into_iter().filter_map(allowed).collect()
}
