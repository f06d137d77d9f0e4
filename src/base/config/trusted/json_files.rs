//! Definitions in JSON files: hooks, MCP servers, and the permission rules of Claude Code's settings. A project's
//! need the user's trust in exactly these keys, so other changes to the files don't affect trust.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::agent_files::AgentFile;
use crate::config::opencode_rules;
use crate::format::settings_file;
use crate::search::words::listed;
use crate::{file, path};

const HOOKS: [&str; 3] = [".mycode/hooks.json", ".claude/settings.json", ".claude/settings.local.json"];
const HOOK_KEYS: [&str; 2] = ["hooks", "disableAllHooks"];
const MCP_SERVERS: [&str; 4] =
    [".cursor/mcp.json", ".vscode/mcp.json", ".mcp.json", ".mycode/mcp_servers.json"];
/// Other agents' settings, of which only these keys count; the files above take precedence.
const OF_OTHERS: [&str; 6] = [
    "opencode.json",
    "opencode.jsonc",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
    ".gemini/settings.json",
    ".codex/config.toml",
];
/// Other keys that are read from them, and from Claude Code's settings; the rest is reported as having no effect.
const READ_OF_OTHERS: &str = "\
    $schema permission mcpServers mcp mcp_servers servers inputs instructions context contextFileName \
    project_doc_fallback_filenames";
const READ_OF_CLAUDE: &str = "$schema hooks disableAllHooks permissions";
/// Keys of a server in any agent's format (read by `tools/mcp/config/entry.rs`), and keys meant only for people.
const READ_OF_SERVERS: &str = "\
    type command args env environment env_vars envVars cwd url httpUrl serverUrl headers http_headers env_http_headers \
    envHttpHeaders bearer_token_env_var bearerTokenEnvVar oauth scopes disabled enabled includeTools enabled_tools \
    excludeTools disabledTools disabled_tools timeout tool_timeout_sec toolTimeoutSec startup_timeout_ms startupTimeout \
    startup_timeout_sec startupTimeoutSec sandbox description name gallery version $schema";
/// Rules, hooks, commands and servers of agents whose files aren't read, according to the README of
/// intellectronica/ruler (2026-11-28) and each agent's documentation.
const OF_OTHERS_UNREAD: &str = "\
    .clinerules .roo/rules .roo/mcp.json .kiro/steering .kiro/settings/mcp.json .junie/guidelines.md .windsurf/rules \
    .windsurf/mcp_config.json .trae/rules .augment/rules .amazonq/rules .continue/rules .aiassistant/rules .agent/rules \
    .openhands/microagents .goosehints .rules AGENT.md QWEN.md CRUSH.md WARP.md .codex/agents .codex/prompts .codex/hooks.json \
    .codex/rules .cursor/hooks.json .cursor/commands .cursor/agents .opencode/agent .opencode/agents .github/agents \
    .github/prompts .github/chatmodes .gemini/agents";
const MCP_KEYS: [&str; 3] = ["mcpServers", "mcp", "mcp_servers"];
const SETTINGS: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
const MAX_BYTES: u64 = 1024 * 1024;

pub fn hooks_of_user(config: &Path) -> Vec<AgentFile> {
    let all = read(config.join("hooks.json")).into_iter().chain(settings_of_user());
    all.filter_map(|file| only(file, &HOOK_KEYS)).collect()
}

pub fn hooks_of_project(workspace: &Path) -> Vec<AgentFile> {
    of_project(workspace, &HOOKS).filter_map(|file| only(file, &HOOK_KEYS)).collect()
}

pub fn mcp_of_project(workspace: &Path) -> Vec<AgentFile> {
    let others = of_project(workspace, &OF_OTHERS).filter_map(|file| only(file, &MCP_KEYS));
    others.chain(of_project(workspace, &MCP_SERVERS)).collect()
}

pub fn of_others(folder: &Path) -> impl Iterator<Item = (Value, PathBuf)> {
    of_project(folder, &OF_OTHERS).filter_map(parsed)
}

pub fn not_used(workspace: &Path) -> Option<String> {
    let mut told = Vec::new();
    let own = settings_of_user().map(|file| (file, READ_OF_CLAUDE, "ask deny"));
    let lists = "allow ask deny additionalDirectories";
    let project = settings(workspace).map(|file| (file, READ_OF_CLAUDE, lists));
    let others = of_project(workspace, &OF_OTHERS).chain(of_project(workspace, &MCP_SERVERS));
    let others = others.map(|file| (file, READ_OF_OTHERS, "*"));
    for (file, read, lists) in own.into_iter().chain(project).chain(others) {
        let place = path::display(workspace, &file.path);
        let all = match settings_file::parse(&file.path, &file.text) {
            Ok(all) => all,
            Err(error) => {
                told.push(format!("{place}, which is not valid ({error})"));
                continue;
            }
        };
        let mut keys: Vec<String> = unread(&all, read).collect();
        keys.retain(|key| key != "permissions" || !all[key].is_array());
        keys.extend(opencode_rules::unused(&all));
        let inner = unread(&all["permissions"], lists);
        keys.extend(inner.filter(|_| lists != "*").map(|key| format!("permissions.{key}")));
        let named = all["instructions"].as_array().into_iter().flatten().filter_map(Value::as_str);
        keys.extend(named.filter(|one| one.contains("://") || one.starts_with("..")).map(str::to_owned));
        keys.extend(unread_of_servers(&all));
        told.extend((!keys.is_empty()).then(|| format!("{} in {place}", keys.join(", "))));
    }
    let unread = OF_OTHERS_UNREAD.split_whitespace().filter(|name| workspace.join(name).exists());
    told.extend(unread.map(str::to_owned));
    let advice = "mycode's own settings are in config.toml (`mycode doctor --config` lists them)";
    (!told.is_empty()).then(|| format!("Not used here: {}. {advice}.", told.join("; ")))
}

fn unread<'a>(all: &'a Value, read: &'a str) -> impl Iterator<Item = String> + 'a {
    let all = all.as_object().into_iter().flatten();
    all.filter(|(key, value)| !is_nothing(value) && !listed(read, key)).map(|(key, _)| key.clone())
}

fn unread_of_servers(all: &Value) -> Vec<String> {
    let lists = ["mcpServers", "mcp_servers", "servers"].iter().filter_map(|key| all[*key].as_object());
    let each = |(name, one): (&String, &Value)| -> Vec<String> {
        unread(one, READ_OF_SERVERS).map(|key| format!("{name}.{key}")).collect()
    };
    lists.flatten().flat_map(each).collect()
}

/// Returns `None` if the project's last session already said so.
pub fn not_used_news(workspace: &Path, project_state: &Path) -> Option<String> {
    news(not_used(workspace)?, project_state, "settings-not-used")
}

/// Returns `told` unless the project's state already has the same text in this file.
pub fn news(told: String, project_state: &Path, name: &str) -> Option<String> {
    let file = project_state.join(name);
    let is_news = file::small_text(&file, MAX_BYTES).is_none_or(|before| before != told);
    let kept = is_news.then(|| fs::create_dir_all(project_state).and_then(|()| fs::write(file, &told)));
    kept.map(|_| told)
}

/// What Claude Code's and opencode's settings allow, if anything.
pub fn permissions_of_project(workspace: &Path) -> Vec<AgentFile> {
    let allowed = |AgentFile { path, text }| {
        let settings = settings_file::parse(&path, &text).ok()?;
        let list = |name: &str| settings["permissions"][name].as_array().filter(|list| !list.is_empty());
        let text = match (list("allow"), list("additionalDirectories")) {
            (None, None) => return None,
            (Some(allow), None) => Value::from(allow.clone()).to_string(),
            (allow, folders) => json!({"allow": allow, "additionalDirectories": folders}).to_string(),
        };
        Some(AgentFile { path, text })
    };
    let of_opencode = of_others(workspace).filter_map(|(settings, path)| {
        let [allow, ..] = opencode_rules::lists(&settings);
        (!allow.is_empty()).then(|| AgentFile { path, text: Value::from(allow).to_string() })
    });
    settings(workspace).filter_map(allowed).chain(of_opencode).collect()
}

pub fn settings_of_user() -> Option<AgentFile> {
    read(std::env::home_dir()?.join(".claude/settings.json"))
}

pub fn opencode_of_user() -> impl Iterator<Item = (Value, PathBuf)> {
    let folder = std::env::home_dir().map(|home| home.join(".config/opencode"));
    let files = folder
        .into_iter()
        .flat_map(|folder| ["opencode.json", "opencode.jsonc"].map(|name| folder.join(name)));
    files.filter_map(read).filter_map(parsed)
}

pub fn parsed(AgentFile { path, text }: AgentFile) -> Option<(Value, PathBuf)> {
    Some((settings_file::parse(&path, &text).ok()?, path))
}

pub fn settings(workspace: &Path) -> impl Iterator<Item = AgentFile> {
    of_project(workspace, &SETTINGS)
}

/// Excludes files that a link brings in from outside.
fn of_project(workspace: &Path, names: &'static [&'static str]) -> impl Iterator<Item = AgentFile> {
    let paths = names.iter().map(move |name| workspace.join(name));
    let here = move |path: &PathBuf| path.exists() && path::follow(path).starts_with(workspace);
    paths.filter(here).filter_map(read)
}

pub fn read(path: PathBuf) -> Option<AgentFile> {
    Some(AgentFile { text: file::small_text(&path, MAX_BYTES)?, path })
}

/// The file reduced to these keys. An invalid file is kept, so that it can be reported.
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
