//! Classifies recorded calls by the shape of their arguments, because recordings come from many agents; the tool's name
//! decides only ambiguous cases. Returns our tool names and data, so that the context engine treats results as ours.

use base::pattern::Pattern;
use serde_json::{Map, Value, json};

#[derive(Clone, Debug, PartialEq)]
pub struct CallShape {
    pub tool: &'static str,
    pub data: Map<String, Value>,
}

const PATH: &[&str] = &["path", "file_path", "filepath", "file", "filename", "absolute_path", "target_file"];
const COMMAND: &[&str] = &["command", "cmd", "script", "bash_command"];
const OLD: &[&str] = &["old_string", "old_str", "oldText", "old_text", "search", "old"];
const NEW: &[&str] =
    &["new_string", "new_str", "newText", "new_text", "replace", "patch", "diff", "edits", "insert_line"];
const WHOLE: &[&str] = &["content", "file_text", "contents", "file_content"];
const PATTERN: &[&str] = &["pattern", "query", "regex", "glob"];
const RANGE: &[&str] = &["view_range", "offset", "limit", "start_line", "end_line", "line_range"];

/// For ambiguous arguments: our tools, and words in other tools' names.
const NAMES: &str = include_str!("names.txt");

pub fn of(name: &str, args: &Value) -> CallShape {
    let mut data = Map::new();
    let path = text(args, PATH);
    let named = named(name);
    let tool = if path.is_some() && (has(args, OLD) || has(args, NEW)) {
        "Edit"
    } else if path.is_some() && has(args, WHOLE) {
        "Write"
    } else if path.is_some() && has(args, RANGE) {
        "Read"
    } else if has(args, PATTERN) {
        named.filter(|tool| *tool == "Glob").unwrap_or("Grep")
    } else if path.is_none() && has(args, COMMAND) {
        "Bash"
    } else {
        named.unwrap_or("Other")
    };
    if let Some(path) = path {
        data.insert("path".to_owned(), path.into());
    }
    if let Some(command) = text(args, COMMAND) {
        if let Some(view) = shown(&command) {
            data.insert("view".to_owned(), view);
        }
        data.insert("command".to_owned(), command.into());
    }
    if let Some(pattern) = text(args, PATTERN) {
        data.insert("pattern".to_owned(), pattern.into());
    }
    if tool == "Read"
        && let Some((start, end)) = range(args)
    {
        data.insert("start_line".to_owned(), start.into());
        if let Some(end) = end {
            data.insert("end_line".to_owned(), end.into());
        }
    }
    CallShape { tool, data }
}

static SHOWN: Pattern = Pattern::new(include_str!("shown.regex"));

/// The view of a command that only shows one file, as the Bash tool reports it.
fn shown(command: &str) -> Option<Value> {
    let found = SHOWN.captures(command.trim())?;
    let number = |name: &str| found.name(name).and_then(|found| found.as_str().parse::<u64>().ok());
    let (from, to) = (number("from").or(number("first")), number("to").or(number("last")));
    Some(json!({"path": found["path"].to_owned(), "start_line": from, "end_line": to}))
}

fn named(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let mut rows = NAMES.lines().filter_map(|row| row.split_once(' '));
    rows.find(|(_, words)| words.split(' ').any(|word| name.contains(word))).map(|(tool, _)| tool)
}

fn has(args: &Value, keys: &[&str]) -> bool {
    keys.iter().any(|key| args.get(*key).is_some_and(|value| !value.is_null()))
}

fn text(args: &Value, keys: &[&str]) -> Option<String> {
    let value = keys.iter().find_map(|key| args.get(*key))?;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => Some(parts.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "))
            .filter(|t| !t.is_empty()),
        _ => None,
    }
}

/// First and last line of a file view, in any of the usual forms.
fn range(args: &Value) -> Option<(u64, Option<u64>)> {
    if let Some(range) = args.get("view_range").or_else(|| args.get("line_range")) {
        let numbers: Vec<i64> = match range {
            Value::Array(values) => values.iter().filter_map(Value::as_i64).collect(),
            Value::String(text) => {
                text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
            }
            _ => return None,
        };
        let start = u64::try_from(*numbers.first()?).ok()?;
        return Some((start, numbers.get(1).and_then(|end| u64::try_from(*end).ok())));
    }
    let number = |key: &str| args.get(key).and_then(Value::as_u64);
    let start = number("start_line").or_else(|| number("offset"));
    let end =
        number("end_line").or_else(|| number("limit").map(|limit| start.unwrap_or(1) + limit.max(1) - 1));
    (start.is_some() || end.is_some()).then_some((start.unwrap_or(1), end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_shape_decides_before_the_name() {
        let tool = |name: &str, args: Value| of(name, &args).tool;
        assert_eq!(tool("str_replace_editor", json!({"path": "a", "old_str": "x", "new_str": "y"})), "Edit");
        assert_eq!(tool("editor", json!({"path": "a", "view_range": [3, 9], "command": "view"})), "Read");
        assert_eq!(tool("editor", json!({"path": "a", "file_text": "x"})), "Write");
        assert_eq!(tool("terminal", json!({"cmd": ["ls", "-l"]})), "Bash");
        assert_eq!(tool("code_search", json!({"query": "x"})), "Grep");
        assert_eq!(tool("read", json!({"path": "a"})), "Read");
        assert_eq!(tool("think", json!({"thought": "a"})), "Other");
    }

    #[test]
    fn ranges_are_read_in_every_spelling() {
        let lines = |args: Value| {
            let data = of("read", &args).data;
            (data.get("start_line").and_then(Value::as_u64), data.get("end_line").and_then(Value::as_u64))
        };
        assert_eq!(lines(json!({"path": "a", "view_range": "30 40"})), (Some(30), Some(40)));
        assert_eq!(lines(json!({"path": "a", "offset": 5, "limit": 10})), (Some(5), Some(14)));
        assert_eq!(lines(json!({"path": "a", "view_range": [5, -1]})), (Some(5), None));
        assert_eq!(lines(json!({"path": "a"})), (None, None));
    }
}
