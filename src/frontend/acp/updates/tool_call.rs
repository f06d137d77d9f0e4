//! A tool call as the client shows it: kind, locations, input and result.

use std::path::{Path, PathBuf};

use agent_client_protocol_schema::v1::{
    ContentBlock, Diff, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, TextContent, ToolCall,
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use base::format::diff_lines::{self, DiffLine};
use base::model::envelope::{Envelope, Status};
use base::model::item::ToolResult;
use base::model::observation::{Todo, TodoStatus};

fn kind(tool: &str) -> ToolKind {
    match tool {
        "Read" | "LS" => ToolKind::Read,
        "Edit" | "MultiEdit" | "Write" => ToolKind::Edit,
        "Grep" | "Glob" | "Locate" | "Recall" | "Symbols" | "WebSearch" => ToolKind::Search,
        "Bash" => ToolKind::Execute,
        "WebFetch" => ToolKind::Fetch,
        "TodoWrite" | "Task" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

pub fn text(text: impl Into<String>) -> ContentBlock {
    ContentBlock::Text(TextContent::new(text))
}

/// In a fence long enough not to be closed by the output.
pub fn fenced(output: &str) -> ContentBlock {
    let mut fence = "```".to_owned();
    while output.contains(&fence) {
        fence.push('`');
    }
    text(format!("{fence}\n{}\n{fence}", output.trim_end_matches('\n')))
}

pub fn begun(id: &str, tool: &str, title: &str, args: &str, root: &Path) -> ToolCall {
    let input = input(args);
    let locations = input["path"].as_str().filter(|path| !path.is_empty()).map(|path| {
        let line = input["start_line"].as_u64().and_then(|line| u32::try_from(line).ok());
        ToolCallLocation::new(root.join(path)).line(line)
    });
    let call = ToolCall::new(id.to_owned(), title).name(tool.to_owned()).kind(kind(tool));
    let call = call.locations(locations.into_iter().collect::<Vec<_>>());
    call.raw_input((!input.is_null()).then_some(input))
}

fn input(args: &str) -> Value {
    match args {
        "" => Value::Null,
        args => serde_json::from_str(args).unwrap_or_else(|_| args.into()),
    }
}

pub fn done(result: &ToolResult, root: &Path) -> ToolCallUpdate {
    let envelope = &result.envelope;
    let status =
        if envelope.status == Status::Error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    let unified = envelope.data.diff().unwrap_or_default();
    let places = diff_places(unified, root);
    let mut fields =
        ToolCallUpdateFields::new().status(status).raw_output(serde_json::to_value(envelope).ok());
    if places.is_empty() {
        fields = fields.content(output(envelope));
    } else {
        let at = |place: &DiffPlace| ToolCallLocation::new(place.diff.path.clone()).line(place.line);
        fields = fields.locations(places.iter().map(at).collect::<Vec<_>>());
        fields = fields.content(places.into_iter().map(|place| place.diff.into()).collect::<Vec<_>>());
    }
    ToolCallUpdate::new(result.call_id.to_string(), fields)
}

fn output(envelope: &Envelope) -> Vec<ToolCallContent> {
    let mut content = Vec::new();
    if !envelope.body.is_empty() {
        content.push(fenced(&envelope.body).into());
    }
    // The model's error text may be longer than the user needs.
    let error = envelope.error.as_ref().map(|error| envelope.data.user_text().unwrap_or(&error.message));
    let said = error.unwrap_or(&envelope.text);
    if !said.is_empty() {
        content.push(text(said).into());
    }
    content
}

pub fn plan(result: &ToolResult) -> Option<Plan> {
    if &*result.tool != "TodoWrite" || result.envelope.error.is_some() {
        return None;
    }
    let entry = |todo: &Todo| {
        let status = match todo.status {
            TodoStatus::Completed => PlanEntryStatus::Completed,
            TodoStatus::InProgress => PlanEntryStatus::InProgress,
            TodoStatus::Pending | TodoStatus::Cancelled => PlanEntryStatus::Pending,
        };
        PlanEntry::new(todo.content.as_str(), PlanEntryPriority::Medium, status)
    };
    let todos = result.envelope.data.todos().unwrap_or_default();
    Some(Plan::new(todos.iter().map(entry).collect()))
}

// Splits a unified diff into the protocol's form: old and new text per hunk.

#[derive(Debug, PartialEq)]
pub struct DiffPlace {
    pub diff: Diff,
    pub line: u32,
}

pub fn diff_places(unified: &str, root: &Path) -> Vec<DiffPlace> {
    let (mut path, mut hunks) = (root.to_owned(), Vec::<Hunk>::new());
    for line in diff_lines::read(unified) {
        match line {
            DiffLine::Header(line) => {
                path = line.strip_prefix("+++ b/").map_or(path, |shown| root.join(shown));
            }
            DiffLine::Hunk(_) => hunks.push(Hunk { path: path.clone(), ..Hunk::default() }),
            DiffLine::Row { sign, old, new, text } => {
                let Some(hunk) = hunks.last_mut() else { continue };
                hunk.created |= old == 0;
                if sign != '+' {
                    hunk.old.extend([text, "\n"]);
                }
                if sign != '-' {
                    hunk.new.extend([text, "\n"]);
                }
                if sign != ' ' {
                    hunk.first_change.get_or_insert(new);
                }
            }
            DiffLine::Cut(..) => {}
        }
    }
    let place = |hunk: Hunk| {
        let diff = Diff::new(hunk.path, hunk.new).old_text((!hunk.created).then_some(hunk.old));
        DiffPlace {
            diff,
            line: hunk.first_change.and_then(|line| u32::try_from(line).ok()).unwrap_or(1).max(1),
        }
    };
    hunks.into_iter().map(place).collect()
}

#[derive(Default)]
struct Hunk {
    path: PathBuf,
    old: String,
    new: String,
    created: bool,
    first_change: Option<usize>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_a_diff() {
        let unified =
            "--- a/x.rs\n+++ b/x.rs\n@@ -1,3 +1,3 @@\n a\n--- b\n+++ c\n d\n@@ -9 +9,2 @@\n e\n+f\n";
        let found = diff_places(unified, Path::new("/w"));
        let told: Vec<_> = found
            .iter()
            .map(|place| (place.diff.old_text.as_deref(), place.diff.new_text.as_str(), place.line))
            .collect();
        assert_eq!(told, [(Some("a\n-- b\nd\n"), "a\n++ c\nd\n", 2), (Some("e\n"), "e\nf\n", 10)]);
        assert!(found.iter().all(|place| place.diff.path == Path::new("/w/x.rs")));
        let created = diff_places("--- a/y\n+++ b/y\n@@ -0,0 +1 @@\n+z\n", Path::new("/w"));
        assert_eq!((created[0].diff.old_text.as_deref(), created[0].line), (None, 1));
        assert_eq!(diff_places("no diff", Path::new("/w")), []);
        let outside = diff_places("--- a//etc/y\n+++ b//etc/y\n@@ -1 +1 @@\n-a\n+b\n", Path::new("/w"));
        assert_eq!(outside[0].diff.path, Path::new("/etc/y"));
    }
}
