//! Turns a recording or a stored session into replay events: items as the live agent would have them, and requests.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::reader::{RecordedEvent, Recording};
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, Status};
use base::model::item::{Item, ToolResult, UserMessage};
use base::pattern::Pattern;
use context::session::record::Record;
use guard::redact::detector::TextSource;
use guard::redact::redactor::Redactor;

#[derive(Clone, Debug)]
pub enum ReplayEvent {
    /// A model request; `ts` is in seconds, if known.
    Request {
        ts: Option<f64>,
    },
    Item(Arc<Item>),
}

/// The events in order. Within a response, results follow all of its calls.
pub fn of_recording(recording: &Recording) -> Vec<ReplayEvent> {
    let item = |item: Item| ReplayEvent::Item(Arc::new(item));
    let mut out = Vec::with_capacity(recording.events.len() * 2);
    // Redacted, as in a live session.
    let redactor = Redactor::default();
    let mut shapes: HashMap<&str, CallShape> = HashMap::new();
    let mut called: HashSet<&str> = HashSet::new();
    let mut results: Vec<ReplayEvent> = Vec::new();
    let mut response: Option<i64> = None;
    let mut unnumbered = i64::MIN;
    for event in &recording.events {
        if let RecordedEvent::Assistant { g, ts, .. } | RecordedEvent::ToolCall { g, ts, .. } = event {
            // A response without a number is one of its own.
            let number = g.unwrap_or_else(|| {
                unnumbered += 1;
                unnumbered
            });
            if response.replace(number) != Some(number) {
                out.append(&mut results);
                out.push(ReplayEvent::Request { ts: *ts });
            }
        }
        match event {
            RecordedEvent::User { text } => {
                out.append(&mut results);
                response = None;
                out.push(item(Item::User(UserMessage::new(&redactor.redact_typed(text)))));
            }
            RecordedEvent::Assistant { text, .. } if !text.trim().is_empty() => {
                out.push(item(Item::assistant(redactor.redact(text, TextSource::Text))));
            }
            RecordedEvent::ToolCall { id, name, args, .. } if called.insert(id) => {
                shapes.insert(id, shape_of(name, args));
                let args = if args.is_null() { "{}".to_owned() } else { args.to_string() };
                out.push(item(Item::ToolCall(ToolCall {
                    id: id.as_str().into(),
                    name: name.as_str().into(),
                    args: redactor.redact_args(&args).into(),
                })));
            }
            RecordedEvent::ToolResult { id, text, exit_code } => {
                if let Some(shape) = shapes.remove(id.as_str()) {
                    let text = redactor.redact(text, TextSource::Text);
                    results.push(item(Item::ToolResult(result(id, &text, *exit_code, shape))));
                }
            }
            _ => {}
        }
    }
    out.append(&mut results);
    out
}

fn result(id: &str, text: &str, exit_code: Option<i64>, shape: CallShape) -> ToolResult {
    let mut envelope = Envelope::success("").with_body("content", text);
    envelope.data = shape.data.into();
    if let Some(code) = exit_code {
        envelope = envelope.with("exit_code", code).partial_if(code != 0);
    }
    // Recordings have no status: a short text that starts like an error is one.
    let begins = text.trim_start().chars().take(40).collect::<String>().to_ascii_lowercase();
    let refused = ["error", "<tool_use_error", "file not found", "no such file"]
        .iter()
        .any(|sign| begins.starts_with(sign));
    if refused && text.len() < 600 && !matches!(shape.tool, "Bash" | "Grep") {
        envelope.status = Status::Error;
    }
    ToolResult::new(id, shape.tool, envelope)
}

/// A request is made where the model starts to answer; rewound parts are left out.
pub fn of_session(records: &[Record]) -> Vec<ReplayEvent> {
    // With the item's number, to find what a rewind removes.
    let mut out: Vec<(u64, ReplayEvent)> = Vec::new();
    let mut answering = false;
    for record in records {
        match record {
            Record::Item(record) => {
                let id = record.id.0;
                let answers =
                    matches!(&*record.item, Item::Assistant { .. } | Item::Reasoning(_) | Item::ToolCall(_));
                if answers && !answering {
                    out.push((id, ReplayEvent::Request { ts: Some(record.ms as f64 / 1000.0) }));
                }
                answering = answers;
                out.push((id, ReplayEvent::Item(Arc::clone(&record.item))));
            }
            Record::Request(_) => answering = false,
            Record::Rewind { to } => out.retain(|(id, _)| *id < to.0),
            _ => {}
        }
    }
    out.into_iter().map(|(_, event)| event).collect()
}

// Classifies recorded calls by the shape of their arguments, since recordings come from many agents; the tool's name
// only decides ambiguous cases. Returns our tool names and data, so that the context engine treats results as ours.

#[derive(Clone, Debug, PartialEq)]
struct CallShape {
    tool: &'static str,
    data: Map<String, Value>,
}

const PATH: &[&str] = &["path", "file_path", "filepath", "file", "filename", "absolute_path", "target_file"];
const COMMAND: &[&str] = &["command", "cmd", "script", "bash_command"];
const OLD: &[&str] = &["old_string", "old_str", "oldText", "old_text", "search", "old"];
const NEW: &[&str] =
    &["new_string", "new_str", "newText", "new_text", "replace", "patch", "diff", "edits", "insert_line"];
const WHOLE: &[&str] = &["content", "file_text", "contents", "file_content"];
const PATTERN: &[&str] = &["pattern", "query", "regex", "glob"];
const RANGE: &[&str] = &["view_range", "offset", "limit", "start_line", "end_line", "line_range"];

/// Tools and the words in names of others, for ambiguous arguments.
const NAMES: &str = include_str!("names.txt");

fn shape_of(name: &str, args: &Value) -> CallShape {
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

/// First and last line of a file view, from any of the usual forms.
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
        let tool = |name: &str, args: Value| shape_of(name, &args).tool;
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
            let data = shape_of("read", &args).data;
            (data.get("start_line").and_then(Value::as_u64), data.get("end_line").and_then(Value::as_u64))
        };
        assert_eq!(lines(json!({"path": "a", "view_range": "30 40"})), (Some(30), Some(40)));
        assert_eq!(lines(json!({"path": "a", "offset": 5, "limit": 10})), (Some(5), Some(14)));
        assert_eq!(lines(json!({"path": "a", "view_range": [5, -1]})), (Some(5), None));
        assert_eq!(lines(json!({"path": "a"})), (None, None));
    }
}
