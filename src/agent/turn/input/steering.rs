//! What the user typed during the turn.

use std::sync::Arc;

use serde_json::json;

use super::blocks::{self, BlockInputs, MessageKind};
use super::{images, machine};
use crate::control::TurnControl;
use crate::hooks::turn_hooks;
use crate::parts::Agent;
use base::model::call::ToolCall;
use base::model::item::{Item, UserMessage};
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use base::{clock, sanitize};
use context::session::log::LogError;

/// Records what was typed, commands first. Returns whether there was a message, since a command alone needs no reply.
pub async fn record_steering(agent: &mut Agent, control: &Arc<TurnControl>) -> Result<bool, LogError> {
    let events = &control.events;
    let mut any = false;
    for command in control.take_commands() {
        if control.cancel.is_cancelled() {
            // What hasn't started returns to the composer with the rest.
            control.command(command);
            continue;
        }
        let text = agent.dispatcher.cx.redactor.redact_typed(&format!("!{command}")).into_owned();
        let _ = events.send(Event::Steered { text });
        run_command(agent, &command, control).await?;
        agent.conversation.usage.forget_report();
    }
    for text in control.take_steering() {
        if control.cancel.is_cancelled() {
            control.steer(text);
            continue;
        }
        let told = match &agent.dispatcher.hooks {
            Some(hooks) => turn_hooks::prompt(hooks, &text, &control.cancel).await,
            None => Ok(None),
        };
        let Ok(told) = told else {
            let _ = events.send(Event::TakenBack { texts: vec![text] });
            continue;
        };
        let mut message = UserMessage::new(&agent.dispatcher.cx.redactor.redact_typed(&text));
        message.steering = true;
        let mut inputs = BlockInputs::new(&text, MessageKind::Steering, agent, control);
        if blocks::append(&mut message, &mut inputs).await.is_err() {
            let _ = events.send(Event::TakenBack { texts: vec![text] });
            continue;
        }
        agent.input.typed.push(text.clone());
        message.injected.extend(told.map(Arc::from));
        let text = message.text.to_string();
        agent.conversation.record(Item::User(message))?;
        for image in images::record(&mut agent.conversation, &agent.dispatcher.cx)? {
            control.notice(Level::Info, texts::image_attached(&image));
        }
        let _ = events.send(Event::Steered { text });
        any = true;
    }
    Ok(any)
}

const TIMEOUT_MS: u64 = 600_000;

/// Recorded as a user message, which compaction cuts and Recall finds. Starts no round: nothing is asked of the model yet.
async fn run_command(agent: &mut Agent, command: &str, control: &Arc<TurnControl>) -> Result<(), LogError> {
    let Agent { conversation, dispatcher, window, .. } = agent;
    let window_tokens = window.settings().window_tokens;
    let args = json!({"command": command, "timeout_ms": TIMEOUT_MS}).to_string();
    let id = format!("user-{}", clock::now_ms());
    let call = ToolCall { id: id.into(), name: "Bash".into(), args: args.into() };
    let result = dispatcher.run_for_user(call, window_tokens, control).await;
    let redactor = &dispatcher.cx.redactor;
    let mut message = UserMessage::new(&redactor.redact_typed(&format!("!{command}")));
    message.add_printed(&sanitize::as_data(&result.envelope.wire()));
    let first = conversation.state.history.entries().is_empty();
    if first {
        message.injected.extend(machine::block("", dispatcher, false).await.map(Arc::from));
    }
    message.steering = !first;
    let (id, _) = conversation.record(Item::User(message))?;
    let _ = control.events.send(Event::ToolDone { id, result: Arc::new(result) });
    Ok(())
}
