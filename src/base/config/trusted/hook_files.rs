//! Hook definitions: the user's own and Claude Code's at home, and a project's, which need the user's trust
//! in their exact contents. Of Claude Code's settings only the hook keys count, so other changes keep trust.

use std::path::Path;

use serde_json::Value;

use super::agent_files::AgentFile;
use crate::{file, path};

const OF_PROJECT: [&str; 3] = [".mycode/hooks.json", ".claude/settings.json", ".claude/settings.local.json"];
const KEYS: [&str; 2] = ["hooks", "disableAllHooks"];
const MAX_BYTES: u64 = 1024 * 1024;

pub fn of_user(config: &Path) -> Vec<AgentFile> {
    let home = std::env::home_dir().map(|home| home.join(".claude/settings.json"));
    [Some(config.join("hooks.json")), home].iter().flatten().filter_map(|path| read(path)).collect()
}

/// Without files that a link brings in from outside.
pub fn of_project(workspace: &Path) -> Vec<AgentFile> {
    let inside = |file: &AgentFile| path::follow(&file.path).starts_with(workspace);
    OF_PROJECT.iter().filter_map(|name| read(&workspace.join(name))).filter(inside).collect()
}

/// What a file says about hooks, if anything. Invalid JSON is kept, so that it can be reported.
fn read(path: &Path) -> Option<AgentFile> {
    let text = file::small_text(path, MAX_BYTES)?;
    let text = match serde_json::from_str(&text) {
        Ok(Value::Object(mut all)) => {
            all.retain(|key, value| KEYS.contains(&key.as_str()) && !is_nothing(value));
            (!all.is_empty()).then(|| Value::Object(all).to_string())?
        }
        _ if text.contains("\"hooks\"") => text,
        _ => return None,
    };
    Some(AgentFile { path: path.to_owned(), text })
}

fn is_nothing(value: &Value) -> bool {
    *value == Value::Bool(false) || value.as_object().is_some_and(serde_json::Map::is_empty)
}
