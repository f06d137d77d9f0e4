//! Permission rules in files: `[permissions]` of a `config.toml`, and what Claude Code's project settings say, in its
//! form (its permissions page, November 2026). They are read here and understood by the policy.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::trusted::agent_files::AgentFile;
use super::trusted::permission_files;

/// What an administrator sets for everyone on this machine. Nothing can loosen its `deny`.
pub const MACHINE_FILE: &str = "/etc/mycode/config.toml";

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct PermissionLists {
    pub allow: Vec<String>,
    pub ask: Vec<String>,
    pub deny: Vec<String>,
}

/// One file's rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleSource {
    /// As users read it.
    pub place: String,
    pub lists: PermissionLists,
    /// Written for another program: a rule that can't be used is a notice, not an error.
    pub foreign: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClaudeSettings {
    permissions: ClaudeLists,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ClaudeLists {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
}

/// The rules in Claude Code's settings.
pub fn claude_lists(settings: &Value) -> PermissionLists {
    let ClaudeLists { allow, ask, deny } =
        ClaudeSettings::deserialize(settings).unwrap_or_default().permissions;
    PermissionLists { allow, ask, deny }
}

/// What forbids and asks counts at once; what allows only if `trusted`.
pub fn of_claude(workspace: &Path, trusted: &[AgentFile]) -> Vec<RuleSource> {
    let sources = permission_files::read_all(workspace).into_iter().filter_map(|(name, text)| {
        let PermissionLists { allow, ask, deny } = claude_lists(&serde_json::from_str(&text).ok()?);
        let is_trusted = trusted.iter().any(|file| file.path == workspace.join(name));
        let lists = PermissionLists { allow: if is_trusted { allow } else { Vec::new() }, ask, deny };
        let found = lists != PermissionLists::default();
        found.then(|| RuleSource { place: name.to_owned(), lists, foreign: true })
    });
    sources.collect()
}
