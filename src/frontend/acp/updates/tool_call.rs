//! A tool call as the client shows it: kind, locations, input and result.

use std::path::Path;

use agent_client_protocol_schema::v1::{
    ContentBlock, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, TextContent, ToolCall,
    ToolCallContent, ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use super::diff;
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

/// Verbatim output in a fence long enough not to be closed by it.
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
    let places = diff::places(unified, root);
    let mut fields =
        ToolCallUpdateFields::new().status(status).raw_output(serde_json::to_value(envelope).ok());
    if places.is_empty() {
        fields = fields.content(output(envelope));
    } else {
        let at = |place: &diff::DiffPlace| ToolCallLocation::new(place.diff.path.clone()).line(place.line);
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
