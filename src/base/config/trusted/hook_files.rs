//! Files that say which commands run on which event (hooks): the user's own and Claude Code's at home, and those of a project,
//! which count once the user trusts them exactly as they are. Of Claude Code's settings only what is about hooks is looked
//! at, so that a change of anything else in them takes no trust away.

use std::path::Path;

use serde_json::Value;

use super::agent_files::AgentFile;
use crate::{file, path};

/// Where a project has them.
const OF_PROJECT: [&str; 3] = [".mycode/hooks.json", ".claude/settings.json", ".claude/settings.local.json"];
/// What is about hooks.
const KEYS: [&str; 2] = ["hooks", "disableAllHooks"];
const MAX_BYTES: u64 = 1024 * 1024;

/// The user's own.
pub fn of_user(config: &Path) -> Vec<AgentFile> {
    let home = std::env::home_dir().map(|home| home.join(".claude/settings.json"));
    [Some(config.join("hooks.json")), home].iter().flatten().filter_map(|path| read(path)).collect()
}

/// Those of a project. None that a link brings in from outside.
pub fn of_project(workspace: &Path) -> Vec<AgentFile> {
    let inside = |file: &AgentFile| path::follow(&file.path).starts_with(workspace);
    OF_PROJECT.iter().filter_map(|name| read(&workspace.join(name))).filter(inside).collect()
}

/// What a file says about hooks; `None` when that is nothing. A text that is no JSON is kept, to be told of.
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
