//! Permission rules in files: `[permissions]` of a `config.toml`, and what Claude Code's settings (its permissions
//! page, November 2026) and opencode's say. They are read here and understood by the policy.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::opencode_rules;
use super::trusted::agent_files::AgentFile;
use super::trusted::json_files;
use crate::path;

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionLists {
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSource {
    pub place: String,
    pub lists: PermissionLists,
    /// Written for another program, so an unusable rule is a notice, not an error.
    pub foreign: bool,
    /// Where its paths begin, if not in the workspace.
    pub folder: Option<PathBuf>,
}

pub fn claude_lists(settings: &Value) -> PermissionLists {
    let list = |name: &str| {
        let all = settings["permissions"][name].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (allow, ask, deny) = (list("allow"), list("ask"), list("deny"));
    PermissionLists { allow, ask, deny }
}

/// Additional folders to work in, with links followed.
pub fn claude_folders(permissions: &Value, workspace: &Path) -> Vec<PathBuf> {
    let named = Vec::<String>::deserialize(&permissions["additionalDirectories"]).unwrap_or_default();
    let folder = |name: &String| path::resolve(workspace, name).canonical;
    named.iter().map(folder).filter(|folder| folder.is_dir()).collect()
}

/// Denials and questions always apply; allowances only if `trusted`, and never from the user's own file.
pub fn of_others(workspace: &Path, trusted: &[AgentFile]) -> Vec<RuleSource> {
    let of_claude = json_files::settings_of_user().into_iter().chain(json_files::settings(workspace));
    let of_opencode = json_files::opencode_of_user().chain(json_files::of_others(workspace));
    foreign(of_claude, of_opencode, workspace, trusted)
}

pub fn foreign(
    of_claude: impl Iterator<Item = AgentFile>,
    of_opencode: impl Iterator<Item = (Value, PathBuf)>,
    workspace: &Path,
    trusted: &[AgentFile],
) -> Vec<RuleSource> {
    let of_claude = of_claude.filter_map(json_files::parsed);
    let of_claude = of_claude.map(|(settings, path)| (claude_lists(&settings), path));
    let of_opencode = of_opencode.map(|(settings, path)| {
        let [allow, ask, deny] = opencode_rules::lists(&settings);
        (PermissionLists { allow, ask, deny }, path)
    });
    let sources = of_claude.chain(of_opencode).filter_map(|(PermissionLists { allow, ask, deny }, path)| {
        let is_trusted = trusted.iter().any(|file| file.path == path);
        let lists = PermissionLists { allow: if is_trusted { allow } else { Vec::new() }, ask, deny };
        let place = path::display(workspace, &path);
        (lists != PermissionLists::default()).then_some(RuleSource {
            place,
            lists,
            foreign: true,
            folder: None,
        })
    });
    sources.collect()
}
