//! The blocks that follow a user's message: one function each, in the order of `SOURCES`. Together they have one
//! deadline and stop on Esc. Appended blocks are permanent, so that the prefix stays stable and a replay needs no disk.

use std::sync::Arc;
use std::time::Duration;

use MessageKind::{Again, NewTurn, Steering};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{images, machine, prompt_expansion, task_context};
use crate::control::TurnControl;
use crate::parts::Agent;
use crate::turn::additions::{notes, skills, survey};
use base::model::item::{Item, UserMessage};
use base::process::task;
use context::mention;
use guard::redact::detector::TextSource;
use tools::cx::ToolCx;

const DEADLINE: Duration = Duration::from_secs(60);

pub struct BlockInputs<'a> {
    pub text: &'a str,
    /// The prompt that the text expands to, if it is a command.
    pub expanded: Option<String>,
    pub agent: &'a Agent,
    pub cancel: &'a CancellationToken,
    control: &'a Arc<TurnControl>,
    pub occasion: MessageKind,
    pub blocks: Vec<Arc<str>>,
}

impl<'a> BlockInputs<'a> {
    pub fn new(
        text: &'a str,
        occasion: MessageKind,
        agent: &'a Agent,
        control: &'a Arc<TurnControl>,
    ) -> Self {
        Self { text, expanded: None, agent, cancel: &control.cancel, control, occasion, blocks: Vec::new() }
    }

    fn cx(&self) -> &'a ToolCx {
        &self.agent.dispatcher.cx
    }

    fn window_tokens(&self) -> u64 {
        self.agent.window.settings().window_tokens
    }

    fn asked(&self) -> &str {
        self.expanded.as_deref().unwrap_or(self.text)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    Steering,
    /// Sent again because it got no reply; most blocks are there already.
    Again,
    NewTurn,
}

type MakeBlock = for<'a> fn(&'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>>;

const SOURCES: &[(&str, &[MessageKind], MakeBlock)] = &[
    ("the command", &[Steering, NewTurn], command),
    ("skills", &[Steering, NewTurn], skill),
    ("mentioned files", &[Steering, NewTurn], mentions),
    ("images", &[Steering, NewTurn], named_images),
    ("MCP resources", &[Steering, NewTurn], resources),
    ("likely files", &[NewTurn], likely_files),
    ("notes", &[NewTurn], related_notes),
    ("earlier work", &[NewTurn], earlier_work),
    ("the environment", &[Steering, NewTurn], environment),
    ("attachments", &[NewTurn, Again], attached),
    ("the survey", &[NewTurn, Again], mode_survey),
];

/// What the user can't see in the message and may have forgotten.
const FROM_BEFORE: [&str; 2] = ["notes", "earlier work"];

/// The user pressed Esc before the message was complete.
pub struct Interrupted;

/// Expands the message's command and appends its blocks to it. Returns which of `FROM_BEFORE` there are.
pub async fn append(
    message: &mut UserMessage,
    inputs: &mut BlockInputs<'_>,
) -> Result<Vec<&'static str>, Interrupted> {
    let (cancel, mut deadline, occasion) =
        (inputs.cancel.clone(), Instant::now() + DEADLINE, inputs.occasion);
    if occasion != Again {
        let expanded = inputs.agent.input.asked.prompt(inputs.text, &cancel);
        if let Some(parts) = within(expanded, deadline, &cancel).await?.flatten() {
            let (dispatcher, tokens) = (&inputs.agent.dispatcher, inputs.window_tokens());
            let prompt = prompt_expansion::with_output(parts, dispatcher, tokens, inputs.control).await;
            // Its commands had their own limits, and the user may have been asked, so restart the deadline.
            deadline = Instant::now() + DEADLINE;
            if cancel.is_cancelled() {
                return Err(Interrupted);
            }
            inputs.expanded = Some(prompt);
        }
    }
    let mut along = Vec::new();
    for (name, occasions, make) in SOURCES {
        if !occasions.contains(&occasion) {
            continue;
        }
        let made = within(make(inputs), deadline, &cancel).await?;
        along.extend((FROM_BEFORE.contains(name) && matches!(made, Some(Some(_)))).then_some(*name));
        let left_out = || format!("<system-reminder>Left out: {name} took too long.</system-reminder>");
        let block = made.unwrap_or_else(|| Some(left_out()));
        let clean = block.map(|block| inputs.cx().redactor.redact(&block, TextSource::Text).into());
        inputs.blocks.extend(clean);
    }
    for block in inputs.blocks.drain(..) {
        add(message, &block);
    }
    Ok(along)
}

/// Appends a block unless the message already has it.
pub fn add(message: &mut UserMessage, block: &str) {
    if !message.injected.iter().any(|known| **known == *block) {
        message.injected.push(block.into());
    }
}

async fn within<T>(
    work: impl Future<Output = T>,
    deadline: Instant,
    cancel: &CancellationToken,
) -> Result<Option<T>, Interrupted> {
    tokio::select! {
        biased;
        done = tokio::time::timeout_at(deadline, work) => Ok(done.ok()),
        () = cancel.cancelled() => Err(Interrupted),
    }
}

fn blocking<'a>(work: impl FnOnce() -> Option<String> + Send + 'static) -> BoxFuture<'a, Option<String>> {
    task::blocking(work).map(|done| done.ok().flatten()).boxed()
}

fn ready<'a>(block: Option<String>) -> BoxFuture<'a, Option<String>> {
    std::future::ready(block).boxed()
}

fn command<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let block = inputs.expanded.as_ref().map(|prompt| format!("<command>\n{prompt}\n</command>"));
    ready(block.map(|block| inputs.cx().redactor.redact_typed(&block).into_owned()))
}

fn skill<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let (offers, told) = (inputs.agent.input.offers.clone(), skills::told(&inputs.agent.conversation));
    let (text, asked) = (inputs.text.to_owned(), inputs.asked().to_owned());
    let (own_command, steering) = (inputs.expanded.is_some(), inputs.occasion == Steering);
    let (root, redactor) = (Arc::clone(&inputs.cx().root), Arc::clone(&inputs.cx().redactor));
    blocking(move || {
        let called = offers.called(&text, &root).filter(|_| !own_command);
        let block = called.or_else(|| offers.may_fit(&asked, &told).filter(|_| !steering))?;
        Some(redactor.redact_typed(&block).into_owned())
    })
}

fn mentions<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let (asked, roots) = (inputs.asked().to_owned(), inputs.cx().roots());
    blocking(move || mention::reminder(&asked, &roots))
}

fn named_images<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let (asked, roots, tray) =
        (inputs.asked().to_owned(), inputs.cx().roots(), Arc::clone(&inputs.cx().images));
    blocking(move || images::attach(&asked, &roots, &tray))
}

fn resources<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    inputs.agent.input.asked.resources(inputs.asked(), inputs.cx(), inputs.cancel).boxed()
}

fn likely_files<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let Agent { conversation, input, .. } = inputs.agent;
    task_context::block(inputs.text, input.task_context, conversation, inputs.cx(), inputs.window_tokens())
        .boxed()
}

fn related_notes<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let Some(limits) = inputs.agent.input.inject_notes else { return ready(None) };
    let mut shown = notes::shown(&inputs.agent.conversation);
    shown.extend(inputs.blocks.iter().flat_map(|block| notes::hint_marks(block)).map(str::to_owned));
    let (asked, budget) = (inputs.asked().to_owned(), notes::budget(inputs.window_tokens(), limits));
    let (root, redactor) = (Arc::clone(&inputs.cx().root), Arc::clone(&inputs.cx().redactor));
    blocking(move || notes::block(&asked, &root, &redactor, &shown, (budget, limits.min_relevance)))
}

/// Only for the session's first task.
fn earlier_work<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let first = inputs.agent.conversation.state.history.entries().is_empty();
    if !first || inputs.agent.input.inject_notes.is_none() || inputs.agent.input.sub_agent {
        return ready(None);
    }
    let (asked, log) = (inputs.asked().to_owned(), inputs.agent.conversation.log_path());
    blocking(move || task_context::earlier_work(&log, &asked))
}

fn environment<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let entries = inputs.agent.conversation.state.history.entries();
    if !entries.is_empty() {
        if inputs.occasion != NewTurn || inputs.agent.input.sub_agent {
            return ready(None);
        }
        let limit = inputs.cx().deadline.map(|limit| format!("Time limit: {}.", limit.limit_text()));
        let root = Arc::clone(&inputs.cx().root);
        let told = entries.iter().filter_map(|entry| match &*entry.item {
            Item::User(message) => Some(&message.injected),
            _ => None,
        });
        let told: Vec<Arc<str>> = told.flatten().cloned().collect();
        return blocking(move || {
            let news: Vec<String> = limit.into_iter().chain(machine::news(&told, &root)).collect();
            (!news.is_empty()).then(|| format!("<system-reminder>{}</system-reminder>", news.join(" ")))
        });
    }
    machine::block(inputs.asked(), &inputs.agent.dispatcher, inputs.agent.input.sub_agent).boxed()
}

fn attached<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let all = inputs.agent.input.attachments.clone();
    if all.is_empty() {
        return ready(None);
    }
    let (cx, window_tokens) = (inputs.cx().clone(), inputs.window_tokens());
    blocking(move || Some(images::attached(&all, &cx, window_tokens)))
}

fn mode_survey<'a>(inputs: &'a BlockInputs<'a>) -> BoxFuture<'a, Option<String>> {
    let mode = inputs.agent.dispatcher.policy.mode();
    survey::block(mode, &inputs.agent.conversation, inputs.cx(), inputs.window_tokens()).boxed()
}
