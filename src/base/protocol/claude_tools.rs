//! Claude Code's names for our tools and their arguments, for hooks. Names and fields as in its hooks reference,
//! November 2026.

use std::path::Path;

use serde_json::{Map, Value};

use crate::config::mode::Mode;
use crate::config::settings::Permission;
use crate::path;

/// Our name, theirs (the one reported to hooks first), and our arguments with their names if different.
type Row = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);

const FILE: (&str, &str) = ("path", "file_path");

const TABLE: [Row; 9] = [
    ("Read", &["Read"], &[FILE, ("start_line", "offset")]),
    ("Write", &["Write"], &[FILE]),
    ("Edit", &["Edit"], &[FILE]),
    ("MultiEdit", &["MultiEdit", "Edit"], &[FILE]),
    ("Bash", &["Bash"], &[("timeout_ms", "timeout"), ("background", "run_in_background")]),
    (
        "Grep",
        &["Grep"],
        &[("include", "glob"), ("ignore_case", "-i"), ("context", "-C"), ("limit", "head_limit")],
    ),
    ("Task", &["Agent", "Task"], &[("type", "subagent_type")]),
    ("AskUser", &["AskUserQuestion"], &[]),
    ("Job", &["TaskOutput", "BashOutput"], &[("id", "task_id")]),
];

/// All names of our tool, the one for hooks first. A server's `server.tool` is called `mcp__server__tool` there.
pub fn names(ours: &str) -> Vec<String> {
    let rows = TABLE.iter().filter(|(name, ..)| *name == ours);
    let mut names: Vec<String> =
        rows.flat_map(|(_, theirs, _)| *theirs).map(|name| (*name).to_owned()).collect();
    names.extend(ours.split_once('.').map(|(server, tool)| format!("mcp__{server}__{tool}")));
    if !names.iter().any(|name| name == ours) {
        names.push(ours.to_owned());
    }
    names
}

pub fn agent_type(ours: &str) -> &str {
    match ours {
        "general" => "general-purpose",
        "explore" => "Explore",
        "plan" => "Plan",
        other => other,
    }
}

/// Arguments as reported to hooks. File paths are absolute, so that a path rule matches every spelling.
pub fn input(ours: &str, args: &Value, root: &Path) -> Value {
    let Value::Object(args) = args else { return args.clone() };
    // Arguments of a server's tool stay as they are.
    let is_ours = !ours.contains('.') && !ours.starts_with("mcp__");
    let mut told = Map::new();
    for (name, value) in args {
        let absolute = |text: &str| path::resolve(root, text).absolute.to_string_lossy().into_owned();
        let value = match value {
            Value::String(text) if name == "path" && is_ours => absolute(text).into(),
            other => other.clone(),
        };
        match (name.as_str(), value) {
            // A single edit is given inline.
            ("edits", Value::Array(edits)) if ours == "Edit" && edits.len() == 1 => {
                told.extend(edits.into_iter().filter_map(|edit| edit.as_object().cloned()).flatten());
            }
            (name, value) => drop(told.insert(renamed(ours, name, false).to_owned(), value)),
        }
    }
    Value::Object(told)
}

pub fn args(ours: &str, input: &Map<String, Value>) -> Value {
    let named = input.iter().map(|(name, value)| (renamed(ours, name, true).to_owned(), value.clone()));
    Value::Object(named.collect())
}

pub fn permission_mode(permission: Permission, mode: Mode) -> &'static str {
    match permission {
        _ if mode.only_reads() => "plan",
        Permission::ReadOnly => "plan",
        Permission::Ask => "default",
        Permission::AcceptEdits | Permission::Auto => "acceptEdits",
        Permission::Full => "bypassPermissions",
    }
}

/// Our mode, and the permission level that it implies.
pub fn of_permission_mode(name: &str) -> Option<(Mode, Permission)> {
    Some(match name {
        "plan" => (Mode::Plan, Permission::Ask),
        "default" | "manual" | "dontAsk" => (Mode::Auto, Permission::Ask),
        "acceptEdits" => (Mode::Auto, Permission::AcceptEdits),
        "auto" => (Mode::Auto, Permission::Auto),
        "bypassPermissions" => (Mode::Auto, Permission::Full),
        _ => return None,
    })
}

fn renamed<'a>(ours: &str, name: &'a str, back: bool) -> &'a str {
    let rows = TABLE.iter().filter(|(name, ..)| *name == ours).flat_map(|(.., arguments)| *arguments);
    let pair =
        |(our, their): &(&'static str, &'static str)| if back { (*their, *our) } else { (*our, *their) };
    rows.map(pair).find(|(from, _)| *from == name).map_or(name, |(_, to)| to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scripts_find_their_fields() {
        let root = Path::new("/w");
        let told =
            input("Edit", &json!({"path": "a.rs", "edits": [{"old_string": "x", "new_string": "y"}]}), root);
        assert_eq!(told, json!({"file_path": "/w/a.rs", "old_string": "x", "new_string": "y"}));
        let told = input("Bash", &json!({"command": "ls", "background": true}), root);
        assert_eq!(told, json!({"command": "ls", "run_in_background": true}));
        assert_eq!(args("Bash", told.as_object().unwrap_or(&Map::new()))["background"], true);
        assert_eq!(names("Task"), ["Agent", "Task"]);
        assert_eq!(names("MultiEdit"), ["MultiEdit", "Edit"]);
        assert_eq!(names("Recall"), ["Recall"]);
        assert_eq!(names("git.log"), ["mcp__git__log", "git.log"]);
    }
}
