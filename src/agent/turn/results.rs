//! Records a finished call: its result, the form that is sent first, and what follows from it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::additions::skills;
use crate::calls::policy_engine::PolicyEngine;
use crate::control::Events;
use crate::session::conversation::Conversation;
use crate::window::context_window::ContextWindow;
use base::model::item::{Item, ToolResult};
use base::path;
use base::protocol::event::Event;
use context::compaction::thresholds::Thresholds;
use context::compress::tool_result::ToolResultCompressor;
use context::session::log::LogError;

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
    // The log keeps the full result; less of it may be sent.
    let settings = window.settings();
    let limits = Thresholds::of_settings(settings);
    let filtered = ToolResultCompressor::on_arrival(&conversation.history, &limits);
    if let Some(batch) = filtered {
        conversation.adopt(&batch)?;
    }
    if let Item::ToolResult(result) = &*item {
        skills::loaded((id, result), conversation, settings.window_tokens, policy, events)?;
        let _ = events.send(Event::ToolDone { id, result: Arc::new(result.clone()) });
    }
    Ok(())
}

pub fn touched(result: &ToolResult, root: &Path) -> Option<PathBuf> {
    let data = &result.envelope.data;
    let text = data.path().or_else(|| data.command()?.cwd.as_deref())?;
    Some(path::resolve(root, text).canonical)
}
