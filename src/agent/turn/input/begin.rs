//! Starts a turn: records the user's message with everything that is appended to it.

use super::attachments;
use super::images;
use super::waiting;
use crate::control::{Events, TurnControl, notice};
use crate::hooks::turn_hooks;
use crate::parts::Agent;
use crate::turn::additions::{news, skills, survey};
use crate::turn::error::TurnError;
use base::model::item::{Item, ItemId};
use base::protocol::event::Level;
use base::protocol::notice::{self as texts, Problem};
use base::text::one_line;
use guard::redact::detector::TextSource;

/// Asks the user's hooks whether the message may be sent. Their output is appended to it.
pub async fn ask_hooks(agent: &mut Agent, text: &str, control: &TurnControl) -> Result<(), TurnError> {
    let Some(hooks) = &agent.dispatcher.hooks else { return Ok(()) };
    let told = turn_hooks::prompt(hooks, text, &control.cancel).await;
    agent.input.told = told.map_err(TurnError::Blocked)?;
    Ok(())
}

pub fn stopped(agent: &Agent) -> Option<Problem> {
    turn_hooks::stopped(&agent.dispatcher.hooks)
}

/// Records the message with news about files and rules, and the files of a new task.
pub async fn record_prompt(agent: &mut Agent, text: &str, events: &Events) -> Result<ItemId, TurnError> {
    let Agent { conversation, window, sampler, dispatcher, input, attachments: sent, .. } = agent;
    let cx = &dispatcher.cx;
    cx.images.begin(&sampler.params.model);
    if !input.sub_agent {
        dispatcher.policy.end_turn();
    }
    if let Some((skill, _)) = input.offers.skills.called(text) {
        skills::allow(&skill.name, skill.allowed_tools.clone(), &dispatcher.policy, events);
    }
    if let Some(sub_agents) = &cx.sub_agents {
        sub_agents.begin(sampler.parent_turn(window.settings(), &conversation.id));
    }
    let window_tokens = window.settings().window_tokens;
    let file_news = dispatcher.file_news().await;
    let file_news = file_news.map(|news| format!("<system-reminder>{news}</system-reminder>"));
    // A message that is sent again already has its files.
    let context = match waiting::waiting(text, conversation, &cx.redactor) {
        Some(_) => None,
        None => input.task_context(text, conversation, cx, window_tokens).await,
    };
    let survey = survey::block(dispatcher.policy.mode(), conversation, cx, window_tokens).await;
    // Background jobs may have run since the last turn.
    window.prompt.after_command(dispatcher.root(), dispatcher.has_background()).await;
    window.prompt.refresh_rules(dispatcher.root()).await;
    input.offers.rules = window.prompt.rules_on_demand(dispatcher.root()).await.into();
    window.fix_rules(conversation, &sampler.params);
    news::tell_of_rules(window, dispatcher.root(), events);
    let attached = attachments::put(std::mem::take(sent), cx, window_tokens).await;
    let mut message = match waiting::take_waiting(text, conversation, &cx.redactor)? {
        Some((message, images)) if attached.is_empty() => {
            cx.images.put_back(images);
            message
        }
        _ => input.message(text, false, context.as_deref(), conversation, cx, window_tokens).await,
    };
    let news = [input.reminder.take(), survey, context, file_news, input.told.take()].into_iter().flatten();
    for block in attached.into_iter().chain(news) {
        let block = cx.redactor.redact(&block, TextSource::Text);
        // A message that is sent again may already have it.
        if !message.injected.iter().any(|known| **known == *block) {
            message.injected.push(block.into());
        }
    }
    let (title, is_skill) = (one_line(&message.text, 200), skills::is_call(&message));
    let id = conversation.record(Item::User(message))?.0;
    if is_skill {
        skills::keep(id, conversation, window_tokens)?;
    }
    for image in images::record(conversation, cx)? {
        notice(events, Level::Info, texts::image_attached(&image));
    }
    if news::rules(conversation, &window.prompt)? {
        notice(events, Level::Info, texts::rules_changed());
    }
    if let Some(journal) = cx.journal.as_ref().filter(|_| !input.sub_agent) {
        journal.begin_turn(id.0, &title);
    }
    Ok(id)
}
