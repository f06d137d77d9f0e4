//! Definitions in JSON files: hooks, MCP servers, and the permission rules of Claude Code's settings. The user's own, and a
//! project's, which need the user's trust in exactly that: of Claude Code's settings only those keys count, so other changes
//! keep trust.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::agent_files::AgentFile;
use crate::format::settings_file;
use crate::{file, path};

const HOOKS: [&str; 3] = [".mycode/hooks.json", ".claude/settings.json", ".claude/settings.local.json"];
const HOOK_KEYS: [&str; 2] = ["hooks", "disableAllHooks"];
const MCP_SERVERS: [&str; 4] =
    [".cursor/mcp.json", ".vscode/mcp.json", ".mcp.json", ".mycode/mcp_servers.json"];
/// Other agents' settings, of which only these keys count; those above win.
const OF_OTHERS: [&str; 4] =
    ["opencode.json", "opencode.jsonc", ".gemini/settings.json", ".codex/config.toml"];
/// What limits an agent or runs something in them, and isn't read. From their references, November 2026.
const WITHOUT_EFFECT: &str = "permission agent plugin hooks tools tools/sandbox sandbox coreTools excludeTools sandbox_mode \
    approval_policy sandbox_workspace_write default_permissions permissions";
const MCP_KEYS: [&str; 3] = ["mcpServers", "mcp", "mcp_servers"];
const SETTINGS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
const MAX_BYTES: u64 = 1024 * 1024;

pub fn hooks_of_user(config: &Path) -> Vec<AgentFile> {
    let home = std::env::home_dir().map(|home| home.join(".claude/settings.json"));
    let all = std::iter::once(config.join("hooks.json")).chain(home);
    all.filter_map(read).filter_map(|file| only(file, &HOOK_KEYS)).collect()
}

pub fn hooks_of_project(workspace: &Path) -> Vec<AgentFile> {
    of_project(workspace, &HOOKS).filter_map(|file| only(file, &HOOK_KEYS)).collect()
}

pub fn mcp_of_project(workspace: &Path) -> Vec<AgentFile> {
    let others = of_project(workspace, &OF_OTHERS).filter_map(|file| only(file, &MCP_KEYS));
    others.chain(of_project(workspace, &MCP_SERVERS)).collect()
}

pub fn of_others(folder: &Path) -> impl Iterator<Item = (Value, PathBuf)> {
    let parsed = |AgentFile { path, text }| Some((settings_file::parse(&path, &text).ok()?, path));
    of_project(folder, &OF_OTHERS).filter_map(parsed)
}

pub fn without_effect(workspace: &Path) -> Option<String> {
    let mut told = Vec::new();
    for (settings, path) in of_others(workspace) {
        let place = path::display(workspace, &path);
        let set = |key: &&str| !settings.pointer(&format!("/{key}")).is_none_or(is_nothing);
        told.extend(WITHOUT_EFFECT.split(' ').filter(set).map(|key| format!("{key} in {place}")));
    }
    (!told.is_empty())
        .then(|| format!("Without effect here: {}. Use [permissions] in config.toml.", told.join(", ")))
}

/// What Claude Code's settings allow, if anything.
pub fn permissions_of_project(workspace: &Path) -> Vec<AgentFile> {
    let allowed = |AgentFile { path, text }| {
        let settings: Value = serde_json::from_str(&text).ok()?;
        let list = |name: &str| settings["permissions"][name].as_array().filter(|list| !list.is_empty());
        let text = match (list("allow"), list("additionalDirectories")) {
            (None, None) => return None,
            (Some(allow), None) => Value::from(allow.clone()).to_string(),
            (allow, folders) => json!({"allow": allow, "additionalDirectories": folders}).to_string(),
        };
        Some(AgentFile { path, text })
    };
    settings(workspace).filter_map(allowed).collect()
}

/// Claude Code's settings in a project.
pub fn settings(workspace: &Path) -> impl Iterator<Item = AgentFile> {
    of_project(workspace, &SETTINGS)
}

/// Without files that a link brings in from outside.
fn of_project(workspace: &Path, names: &'static [&'static str]) -> impl Iterator<Item = AgentFile> {
    let paths = names.iter().map(move |name| workspace.join(name));
    paths.filter(move |path| path::follow(path).starts_with(workspace)).filter_map(read)
}

pub fn read(path: PathBuf) -> Option<AgentFile> {
    Some(AgentFile { text: file::small_text(&path, MAX_BYTES)?, path })
}

/// What a file says under these keys, if anything. An invalid file is kept, so that it can be reported.
fn only(file: AgentFile, keys: &[&str]) -> Option<AgentFile> {
    match settings_file::parse(&file.path, &file.text) {
        Ok(Value::Object(mut all)) => {
            all.retain(|key, value| keys.contains(&key.as_str()) && !is_nothing(value));
            (!all.is_empty()).then(|| AgentFile { text: Value::Object(all).to_string(), ..file })
        }
        _ => Some(file).filter(|file| keys.iter().any(|key| file.text.contains(&format!("\"{key}\"")))),
    }
}

fn is_nothing(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Bool(false)) || *value == json!({}) || *value == json!([])
}
