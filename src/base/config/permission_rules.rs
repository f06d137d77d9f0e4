//! Permission rules in files: `[permissions]` of a `config.toml`, and what Claude Code's project settings say, in its
//! form (its permissions page, November 2026). They are read here and understood by the policy.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::trusted::agent_files::AgentFile;
use super::trusted::json_files;
use crate::format::settings_file;
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
    /// As users read it.
    pub place: String,
    pub lists: PermissionLists,
    /// Written for another program: a rule that can't be used is a notice, not an error.
    pub foreign: bool,
}

/// The rules in Claude Code's settings, which have other entries too.
pub fn claude_lists(settings: &Value) -> PermissionLists {
    let list = |name: &str| {
        let all = settings["permissions"][name].as_array().into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let (allow, ask, deny) = (list("allow"), list("ask"), list("deny"));
    PermissionLists { allow, ask, deny }
}

/// Further folders to work in, where they are.
pub fn claude_folders(permissions: &Value, workspace: &Path) -> Vec<PathBuf> {
    let named = Vec::<String>::deserialize(&permissions["additionalDirectories"]).unwrap_or_default();
    let folder = |name: &String| path::resolve(workspace, name).canonical;
    named.iter().map(folder).filter(|folder| folder.is_dir()).collect()
}

/// What forbids and asks counts at once; what allows only if `trusted`, and never from the user's own file.
pub fn of_claude(workspace: &Path, trusted: &[AgentFile]) -> Vec<RuleSource> {
    let files = json_files::settings_of_user().into_iter().chain(json_files::settings(workspace));
    let sources = files.filter_map(|AgentFile { path, text }| {
        let PermissionLists { allow, ask, deny } = claude_lists(&settings_file::parse(&path, &text).ok()?);
        let is_trusted = trusted.iter().any(|file| file.path == path);
        let lists = PermissionLists { allow: if is_trusted { allow } else { Vec::new() }, ask, deny };
        let place = path::display(workspace, &path);
        (lists != PermissionLists::default()).then_some(RuleSource { place, lists, foreign: true })
    });
    sources.collect()
}
