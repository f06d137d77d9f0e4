//! What the user typed during the turn.

use std::sync::Arc;

use super::blocks::{self, BlockInputs, MessageKind};
use super::images;
use super::machine::MachineFacts;
use super::user_command;
use crate::control::TurnControl;
use crate::hooks::turn_hooks;
use crate::parts::Agent;
use base::model::item::{Item, UserMessage};
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use context::session::log::LogError;

/// Records it, the user's own commands first; returns whether there was anything.
pub async fn record_steering(agent: &mut Agent, control: &Arc<TurnControl>) -> Result<bool, LogError> {
    let events = &control.events;
    let mut any = false;
    for command in control.take_commands() {
        if control.cancel.is_cancelled() {
            // What never began goes back to the composer with the rest.
            control.command(command);
            continue;
        }
        let text = agent.dispatcher.cx.redactor.redact_typed(&format!("!{command}")).into_owned();
        let _ = events.send(Event::Steered { text });
        user_command::run(agent, &command, control).await?;
        any = true;
    }
    let Agent { conversation, window, dispatcher, input, .. } = agent;
    for text in control.take_steering() {
        if control.cancel.is_cancelled() {
            control.steer(text);
            continue;
        }
        let told = match &dispatcher.hooks {
            Some(hooks) => turn_hooks::prompt(hooks, &text, &control.cancel).await,
            None => Ok(None),
        };
        let Ok(told) = told else {
            let _ = events.send(Event::TakenBack { texts: vec![text] });
            continue;
        };
        let cx = &dispatcher.cx;
        let mut message = UserMessage::new(&cx.redactor.redact_typed(&text));
        message.steering = true;
        let mut inputs = BlockInputs {
            text: &text,
            expanded: None,
            attachments: [].into(),
            input,
            conversation,
            cx,
            mode: dispatcher.policy.mode(),
            machine: MachineFacts::of(dispatcher),
            window_tokens: window.settings().window_tokens,
            cancel: &control.cancel,
            occasion: MessageKind::Steering,
            blocks: Vec::new(),
        };
        if blocks::append(&mut message, &mut inputs).await.is_err() {
            let _ = events.send(Event::TakenBack { texts: vec![text] });
            continue;
        }
        input.typed.push(text.clone());
        message.injected.extend(told.map(Arc::from));
        let text = message.text.to_string();
        conversation.record(Item::User(message))?;
        for image in images::record(conversation, &dispatcher.cx)? {
            control.notice(Level::Info, texts::image_attached(&image));
        }
        let _ = events.send(Event::Steered { text });
        any = true;
    }
    Ok(any)
}
