//! Translates calls of other agents' tools into ours where every argument has a counterpart: then we know
//! what they read and changed, can use shorter forms and `Recall`, and the model sees familiar names. Other
//! calls keep their names.

use std::path::Path;

use serde_json::{Map, Value, json};

/// Their tools (lowercase letters only) and ours.
const TOOLS: &[(&str, &str)] = &[
    ("read", "Read"),
    ("readfile", "Read"),
    ("edit", "Edit"),
    ("replace", "Edit"),
    ("multiedit", "MultiEdit"),
    ("write", "Write"),
    ("writefile", "Write"),
    ("bash", "Bash"),
    ("shell", "Bash"),
    ("shellcommand", "Bash"),
    ("execcommand", "Bash"),
    ("localshell", "Bash"),
    ("runshellcommand", "Bash"),
    ("grep", "Grep"),
    ("grepsearch", "Grep"),
    ("searchfilecontent", "Grep"),
    ("glob", "Glob"),
    ("ls", "LS"),
    ("list", "LS"),
    ("listdirectory", "LS"),
    ("todowrite", "TodoWrite"),
    ("writetodos", "TodoWrite"),
    ("updateplan", "TodoWrite"),
];

/// Our tool (any if empty), their argument (lowercase letters only), and ours.
const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("Read", "offset", "start_line"),
    ("Bash", "cmd", "command"),
    ("Bash", "workdir", "directory"),
    ("Bash", "dirpath", "directory"),
    ("Bash", "runinbackground", "background"),
    ("Grep", "glob", "include"),
    ("Grep", "headlimit", "limit"),
    ("TodoWrite", "plan", "todos"),
    ("", "filepath", "path"),
    ("", "absolutepath", "path"),
    ("", "dirpath", "path"),
    ("", "oldstring", "old_string"),
    ("", "newstring", "new_string"),
    ("", "replaceall", "replace_all"),
    ("", "startline", "start_line"),
    ("", "ignorecase", "ignore_case"),
    ("", "outputmode", "output_mode"),
    ("", "timeoutms", "timeout_ms"),
];

/// Our arguments, by tool.
const KNOWN: &[(&str, &[&str])] = &[
    ("Read", &["path", "start_line", "limit"]),
    ("Edit", &["path", "old_string", "new_string", "replace_all"]),
    ("MultiEdit", &["path", "edits"]),
    ("Write", &["path", "content"]),
    ("Bash", &["command", "directory", "timeout_ms", "background"]),
    ("Grep", &["pattern", "path", "include", "ignore_case", "context", "limit", "output_mode"]),
    ("Glob", &["pattern", "path", "limit"]),
    ("LS", &["path"]),
    ("TodoWrite", &["todos"]),
];
const IDLE: &[&str] = &[
    "description",
    "instruction",
    "explanation",
    "justification",
    "yieldtimems",
    "maxoutputtokens",
    "tty",
    "login",
    "sandboxpermissions",
    "withescalatedpermissions",
    "timeout",
    "n",
];

#[derive(Clone, Debug, PartialEq)]
pub struct OurCall {
    pub tool: String,
    pub args: Value,
    /// Result data: path, command, pattern, lines, todos.
    pub data: Map<String, Value>,
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

pub fn ours(name: &str, args: &Value, folder: Option<&Path>) -> OurCall {
    let wanted = plain(name);
    let tool = TOOLS.iter().find(|(theirs, _)| *theirs == wanted).map(|(_, ours)| *ours);
    match tool.and_then(|tool| Some((tool, translated(tool, args)?))) {
        Some((tool, args)) => {
            let data = data(tool, &args, folder);
            OurCall { tool: tool.to_owned(), args: Value::Object(in_schema(tool, args)), data }
        }
        None => OurCall { tool: name.to_owned(), args: args.clone(), data: Map::new() },
    }
}

/// The arguments with our names; `None` if one has no counterpart.
fn translated(tool: &str, args: &Value) -> Option<Map<String, Value>> {
    let known = KNOWN.iter().find(|(name, _)| *name == tool)?.1;
    let mut ours = Map::new();
    for (key, value) in args.as_object()? {
        let small = plain(key);
        let renamed =
            ARGUMENTS.iter().find(|(of, theirs, _)| (*of == tool || of.is_empty()) && *theirs == small);
        let name = renamed.map_or(key.as_str(), |(_, _, ours)| *ours);
        if known.contains(&name) {
            ours.insert(name.to_owned(), value.clone());
        } else if !IDLE.contains(&small.as_str()) && !value.is_null() {
            return None;
        }
    }
    let command = ours.get_mut("command");
    if let Some(Value::Array(words)) = command.as_deref() {
        let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
        let script = match words?.as_slice() {
            [_, flag, script] if flag.starts_with('-') => (*script).to_owned(),
            words => words.join(" "),
        };
        ours.insert("command".to_owned(), script.into());
    }
    let needed = if matches!(tool, "LS" | "TodoWrite") { None } else { known.first() };
    let complete = needed.is_none_or(|name| ours.get(*name).is_some_and(Value::is_string));
    complete.then_some(ours)
}

/// Converts to our schemas: replacements and todos are lists.
fn in_schema(tool: &str, mut args: Map<String, Value>) -> Map<String, Value> {
    match tool {
        "Edit" => {
            let keys = ["old_string", "new_string", "replace_all"];
            let edit: Map<String, Value> =
                keys.iter().filter_map(|key| Some(((*key).to_owned(), args.remove(*key)?))).collect();
            args.insert("edits".to_owned(), json!([edit]));
        }
        "TodoWrite" => {
            let list = todos(&args);
            args.insert("todos".to_owned(), list);
        }
        _ => {}
    }
    args
}

fn todos(args: &Map<String, Value>) -> Value {
    let list = args.get("todos").and_then(Value::as_array);
    let row = |todo: &Value| {
        let text = ["content", "step", "description"].iter().find_map(|key| todo[*key].as_str());
        let status =
            todo["status"].as_str().filter(|status| ["pending", "in_progress", "completed"].contains(status));
        Some(json!({"content": text?, "status": status.unwrap_or("pending")}))
    };
    list.into_iter().flatten().filter_map(row).collect()
}

fn data(tool: &str, args: &Map<String, Value>, folder: Option<&Path>) -> Map<String, Value> {
    let mut data = Map::new();
    for key in ["path", "command", "pattern"] {
        if let Some(text) = args.get(key).and_then(Value::as_str) {
            let inside = folder.and_then(|folder| Path::new(text).strip_prefix(folder).ok());
            let shown = inside.filter(|_| key == "path").map_or(text.into(), |path| path.to_string_lossy());
            data.insert(key.to_owned(), shown.into());
        }
    }
    if tool == "Read" {
        let number = |key: &str| args.get(key).and_then(Value::as_u64);
        let start = number("start_line");
        if start.is_some() || number("limit").is_some() {
            let start = start.unwrap_or(1);
            data.insert("start_line".to_owned(), start.into());
            if let Some(limit) = number("limit") {
                data.insert("end_line".to_owned(), start.saturating_add(limit).saturating_sub(1).into());
            }
        }
    }
    if tool == "TodoWrite" {
        data.insert("todos".to_owned(), todos(args));
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_said_in_our_words() {
        let folder = Path::new("/w");
        let of = |name: &str, args: Value| {
            let call = ours(name, &args, Some(folder));
            (call.tool, call.args)
        };
        let edit = json!({"path": "/w/a", "edits": [{"old_string": "x", "new_string": "y"}]});
        for (name, args) in [
            ("Edit", json!({"file_path": "/w/a", "old_string": "x", "new_string": "y"})),
            (
                "replace",
                json!({"file_path": "/w/a", "old_string": "x", "new_string": "y", "instruction": "do"}),
            ),
            ("edit", json!({"filePath": "/w/a", "oldString": "x", "newString": "y"})),
        ] {
            assert_eq!(of(name, args), ("Edit".to_owned(), edit.clone()));
        }
        for (name, args) in [
            ("exec_command", json!({"cmd": "make", "yield_time_ms": 10})),
            ("shell", json!({"command": ["bash", "-lc", "make"]})),
            ("run_shell_command", json!({"command": "make", "description": "build"})),
        ] {
            assert_eq!(of(name, args), ("Bash".to_owned(), json!({"command": "make"})));
        }
        let plan = json!({"plan": [{"step": "fix", "status": "in_progress"}], "explanation": "so"});
        assert_eq!(
            of("update_plan", plan).1,
            json!({"todos": [{"content": "fix", "status": "in_progress"}]})
        );
        let other = json!({"file_path": "/w/a", "pages": "1-3"});
        assert_eq!(of("Read", other.clone()), ("Read".to_owned(), other), "pages have no counterpart");
        let read = ours("read", &json!({"filePath": "/w/src/a", "offset": 5, "limit": 3}), Some(folder));
        assert_eq!(Value::Object(read.data), json!({"path": "src/a", "start_line": 5, "end_line": 7}));
    }
}
