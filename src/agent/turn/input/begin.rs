//! Starts a turn: records the user's message with everything appended to it.

use std::sync::Arc;

use super::blocks::{self, BlockInputs, MessageKind};
use super::{images, message};
use crate::control::{Events, TurnControl, notice};
use crate::hooks::turn_hooks;
use crate::parts::Agent;
use crate::turn::additions::{reminders, skills};
use crate::turn::error::TurnError;
use base::model::item::{Item, ItemId, ReminderTopic, UserMessage};
use base::protocol::event::{FailureCause, Level};
use base::protocol::notice::{self as texts, Problem};
use base::text::one_line;
use guard::redact::detector::TextSource;
use tools::own_commands;

/// Asks the user's hooks whether the message may be sent. Their output is appended to it.
pub async fn ask_hooks(agent: &mut Agent, text: &str, control: &TurnControl) -> Result<(), TurnError> {
    let Some(hooks) = &agent.dispatcher.hooks else { return Ok(()) };
    let told = turn_hooks::prompt(hooks, text, &control.cancel).await;
    agent.input.told = told.map_err(|problem| TurnError::Failed(problem, FailureCause::Other))?;
    Ok(())
}

pub fn stopped(agent: &Agent) -> Option<Problem> {
    turn_hooks::stopped(&agent.dispatcher.hooks)
}

/// Starts a round of the goal with its check's output.
pub async fn record_round(
    agent: &mut Agent,
    said: String,
    shown: &str,
    events: &Events,
) -> Result<ItemId, TurnError> {
    prepare(agent, events).await;
    let Agent { conversation, dispatcher, .. } = agent;
    let id = conversation.remind(ReminderTopic::Goal, said)?;
    if let Some(journal) = &dispatcher.cx.journal {
        journal.begin_turn(id.0, shown);
    }
    Ok(id)
}

pub async fn prepare(agent: &mut Agent, events: &Events) {
    let Agent { conversation, window, sampler, dispatcher, input, .. } = agent;
    let cx = &dispatcher.cx;
    cx.images.begin(&sampler.params.model);
    if !input.sub_agent {
        dispatcher.policy.rules().forget_turn();
    }
    if let Some(sub_agents) = &cx.sub_agents {
        sub_agents.begin(sampler.parent_turn(window.settings(), &conversation.id));
    }
    // Background jobs may have run since the last turn.
    window.prompt.after_command(dispatcher.root(), dispatcher.has_background()).await;
    window.prompt.refresh_rules(dispatcher.root()).await;
    input.offers.rules = window.prompt.rules_on_demand(dispatcher.root()).await.into();
    window.fix_rules(conversation, &sampler.params);
    reminders::tell_of_rules(window, dispatcher.root(), events);
}

pub async fn record_prompt(
    agent: &mut Agent,
    text: &str,
    control: &Arc<TurnControl>,
) -> Result<ItemId, TurnError> {
    let events = &control.events;
    prepare(agent, events).await;
    if !agent.input.sub_agent {
        let rules = agent.window.prompt.rules.part().map(|rules| &*rules.content);
        let wanted = message::wants_commits(text, &agent.conversation, rules, agent.dispatcher.root());
        agent.dispatcher.policy.want_commits(wanted);
    }
    let Agent { conversation, dispatcher, input, .. } = &*agent;
    let cx = &dispatcher.cx;
    let skill = input.offers.skills.called(text);
    let skill = skill.map(|(skill, _)| (format!("Skill {}", skill.name), skill.allowed_tools.clone()));
    let command = own_commands::called(&input.asked.commands, text);
    let command = command.map(|(own, _)| (format!("/{}", own.row.name), own.allowed_tools.clone()));
    for (name, tools) in skill.into_iter().chain(command) {
        skills::allow(&name, tools, &dispatcher.policy, events);
    }
    let again = input.attachments.is_empty() && message::waiting(text, conversation, &cx.redactor).is_some();
    let mut message = UserMessage::new(&cx.redactor.redact_typed(text));
    let kind = if again { MessageKind::Again } else { MessageKind::NewTurn };
    let mut inputs = BlockInputs::new(text, kind, agent, control);
    let along = blocks::append(&mut message, &mut inputs).await;
    let along = along.map_err(|blocks::Interrupted| TurnError::Interrupted)?;
    let file_news = dispatcher.file_news().await;
    let Agent { conversation, window, dispatcher, input, .. } = agent;
    let cx = &dispatcher.cx;
    // Nothing awaits from here on: whatever is taken out of its place gets recorded.
    input.attachments.clear();
    if let Some((waiting, images)) =
        message::take_waiting(text, conversation, &cx.redactor)?.filter(|_| again)
    {
        cx.images.put_back(images);
        let new = std::mem::replace(&mut message, waiting).injected;
        new.iter().for_each(|block| blocks::add(&mut message, block));
    }
    let reminder = |text: String| format!("<system-reminder>{text}</system-reminder>");
    let ended = Some(cx.shell.jobs.take_ended()).filter(|ended| !ended.is_empty());
    let ended = ended.map(|ended| reminder(format!("Meanwhile {}.", ended.join("; "))));
    let servers = input.asked.servers.as_ref().and_then(|servers| servers.news()).map(reminder);
    let news = [ended, servers, input.reminder.take(), file_news.map(reminder), input.told.take()];
    for block in news.into_iter().flatten() {
        blocks::add(&mut message, &cx.redactor.redact(&block, TextSource::Text));
    }
    let (title, is_skill) = (one_line(&message.text, 200), skills::is_call(&message));
    let id = conversation.record(Item::User(message))?.0;
    if is_skill {
        skills::keep(id, conversation, window.settings().window_tokens)?;
    }
    if !along.is_empty() && !input.sub_agent {
        notice(events, Level::Info, texts::sent_along(&along));
    }
    for image in images::record(conversation, cx)? {
        notice(events, Level::Info, texts::image_attached(&image));
    }
    if reminders::rules(conversation, &window.prompt)? {
        notice(events, Level::Info, texts::RULES_CHANGED.to_owned());
    }
    if let Some(journal) = cx.journal.as_ref().filter(|_| !input.sub_agent) {
        journal.begin_turn(id.0, &title);
    }
    Ok(id)
}
