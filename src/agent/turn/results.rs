//! Records a finished call: its result, the form that is sent first, and what follows from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::additions::skills;
use super::input::images;
use crate::calls::policy_engine::PolicyEngine;
use crate::control::Events;
use crate::session::conversation::Conversation;
use crate::window::context_window::ContextWindow;
use base::model::envelope::ErrorCode;
use base::model::item::{Item, ToolResult};
use base::path;
use base::protocol::event::Event;
use context::compaction::note::FAILED_EDIT;
use context::compaction::thresholds::Thresholds;
use context::compress::tool_result::ToolResultCompressor;
use context::session::log::LogError;
use tools::cx::ToolCx;

pub fn is_brief(tool: &str) -> bool {
    matches!(tool, "Edit" | "MultiEdit" | "Write" | "TodoWrite" | "Note")
}

pub fn record(
    result: ToolResult,
    conversation: &mut Conversation,
    window: &ContextWindow,
    policy: &PolicyEngine,
    events: &Events,
) -> Result<(), LogError> {
    let spent = result.envelope.data.spent().map(|(model, usage)| (model.to_owned(), usage));
    let (id, item) = conversation.record(Item::ToolResult(result))?;
    if let Some((model, usage)) = spent {
        conversation.add_side_usage(&model, &usage)?;
    }
    first_form(conversation, window)?;
    if let Item::ToolResult(result) = &*item {
        let window_tokens = window.settings().window_tokens;
        skills::loaded((id, result), conversation, window_tokens, policy, events)?;
        let _ = events.send(Event::ToolDone { id, result: Arc::new(result.clone()) });
    }
    Ok(())
}

/// The log keeps the newest item whole, but less of it may be sent.
pub fn first_form(conversation: &mut Conversation, window: &ContextWindow) -> Result<(), LogError> {
    let limits = Thresholds::of_settings(window.settings());
    match ToolResultCompressor::on_arrival(&conversation.state.history, &limits) {
        Some(batch) => conversation.adopt(&batch),
        None => Ok(()),
    }
}

pub fn record_pictures(conversation: &mut Conversation, cx: &ToolCx) -> Result<(), LogError> {
    images::record(conversation, cx).map(drop)
}

/// Whether the call was denied: a turn that ends with one couldn't do its task.
pub fn is_denied(result: &ToolResult) -> bool {
    result.envelope.error.as_ref().is_some_and(|error| error.code == ErrorCode::PermissionDenied)
}

/// Adds how often the same call has failed in the same way.
pub fn count_failures(result: &mut ToolResult, conversation: &Conversation) {
    let times = conversation.facts.work.failures_with(result);
    if times < 2 {
        return;
    }
    let way_out = match &*result.tool {
        "Bash" => "change something first",
        "Read" | "Edit" | "MultiEdit" | "Write" => "change it or Read the file",
        _ => "change it",
    };
    let note = format!("the same call has failed {times} times; {way_out}");
    let envelope = &mut result.envelope;
    match &mut envelope.error {
        Some(error) => error.message = format!("{} ({note})", error.message),
        None if envelope.text.is_empty() => envelope.text = note,
        None => envelope.text = format!("{}; {note}", envelope.text),
    }
}

/// Notes that a command after a failed edit in the same reply ran without it.
pub fn note_failed_edit(result: &mut ToolResult, conversation: &Conversation, failed: &mut Option<String>) {
    let edited = conversation.facts.work.edited(result);
    let envelope = &mut result.envelope;
    if edited.is_some() && envelope.error.is_some() {
        *failed = edited;
    } else if &*result.tool == "Bash"
        && envelope.data.command().is_some()
        && envelope.error.is_none()
        && let Some(path) = failed.take()
    {
        let note = format!("{FAILED_EDIT}{path} earlier in this reply failed, so this ran without it.\n");
        envelope.body.insert_str(0, &note);
    }
}

pub fn touched(result: &ToolResult, root: &Path) -> Option<PathBuf> {
    let data = &result.envelope.data;
    let text = data.path().or_else(|| data.command()?.cwd.as_deref())?;
    Some(path::resolve(root, text).canonical)
}
