//! The user's own `!command`: its output becomes a user message, which compaction cuts like any other and
//! Recall finds in full. It doesn't start a round: nothing is asked of the model yet.

use std::sync::Arc;

use serde_json::json;

use super::machine;
use crate::control::TurnControl;
use crate::parts::Agent;
use base::model::call::ToolCall;
use base::model::item::{Item, UserMessage};
use base::protocol::event::Event;
use base::{clock, sanitize};
use context::session::log::LogError;

const TIMEOUT_MS: u64 = 600_000;

/// Runs the command, shows it live, and records it with its result.
pub async fn run(agent: &mut Agent, command: &str, control: &Arc<TurnControl>) -> Result<(), LogError> {
    let Agent { conversation, dispatcher, window, .. } = agent;
    let window_tokens = window.settings().window_tokens;
    let args = json!({"command": command, "timeout_ms": TIMEOUT_MS}).to_string();
    let id = format!("user-{}", clock::now_ms());
    let call = ToolCall { id: id.into(), name: "Bash".into(), args: args.into() };
    let result = dispatcher.run_for_user(call, window_tokens, control).await;
    let redactor = &dispatcher.cx.redactor;
    let mut message = UserMessage::new(&redactor.redact_typed(&format!("!{command}")));
    message.add_printed(&sanitize::as_data(&result.envelope.wire()));
    let first = conversation.history.entries().is_empty();
    if first {
        message.injected.extend(machine::block("", dispatcher, false).await.map(Arc::from));
    }
    message.steering = !first;
    let (id, _) = conversation.record(Item::User(message))?;
    let _ = control.events.send(Event::ToolDone { id, result: Arc::new(result) });
    Ok(())
}
