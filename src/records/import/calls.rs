//! Translates calls of other agents' tools into ours if every argument has a counterpart, by the tables that also
//! translate a live model's calls: then we know what they read and changed, can use shorter forms and `Recall`, and
//! the model sees familiar names. Other calls keep their names.

use std::path::Path;

use serde_json::{Map, Value};

use base::search::words::listed;
use tools::api::Tool;
use tools::registry;

const SHARED: &str = "Read Edit MultiEdit Write Bash Grep Glob LS TodoWrite";
/// Arguments without an influence on what a call did.
const IDLE: &str =
    "justification yield_time_ms max_output_tokens tty login sandbox_permissions with_escalated_permissions";

#[derive(Clone, Debug, PartialEq)]
pub struct OurCall {
    pub tool: String,
    pub args: Value,
    /// Result data: path, command, pattern, lines, todos.
    pub data: Map<String, Value>,
}

pub struct CallTranslator(Vec<Box<dyn Tool>>);

impl Default for CallTranslator {
    fn default() -> Self {
        let mut tools = registry::builtin();
        tools.retain(|tool| listed(SHARED, tool.name()));
        Self(tools)
    }
}

impl CallTranslator {
    pub fn ours(&self, name: &str, args: &Value, folder: Option<&Path>) -> OurCall {
        let ours =
            registry::find(&self.0, name).ok().and_then(|tool| Some((tool.name(), translated(tool, args)?)));
        match ours {
            Some((tool, args)) => {
                let data = data(tool, &args, folder);
                OurCall { tool: tool.to_owned(), args, data }
            }
            None => OurCall { tool: name.to_owned(), args: args.clone(), data: Map::new() },
        }
    }
}

/// `None` if an argument has no counterpart; for todos, other arguments don't matter.
fn translated(tool: &dyn Tool, args: &Value) -> Option<Value> {
    let (args, ignored) = tool.translated(args.clone())?;
    let nothing_lost = tool.name() == "TodoWrite" || ignored.iter().all(|key| listed(IDLE, key));
    nothing_lost.then_some(args)
}

fn data(tool: &str, args: &Value, folder: Option<&Path>) -> Map<String, Value> {
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
        data.insert("todos".to_owned(), args["todos"].clone());
    }
    data
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn calls_are_said_in_our_words() {
        let folder = Path::new("/w");
        let of = |name: &str, args: Value| {
            let call = CallTranslator::default().ours(name, &args, Some(folder));
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
            json!({"todos": [{"content": "fix", "status": "in_progress"}], "summary": "so"})
        );
        let other = json!({"file_path": "/w/a", "pages": "1-3"});
        assert_eq!(of("Read", other.clone()), ("Read".to_owned(), other), "pages have no counterpart");
        let read = CallTranslator::default().ours(
            "read",
            &json!({"filePath": "/w/src/a", "offset": 5, "limit": 3}),
            Some(folder),
        );
        assert_eq!(Value::Object(read.data), json!({"path": "src/a", "start_line": 5, "end_line": 7}));
    }
}
