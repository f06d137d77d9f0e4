//! One turn: the ReAct loop. Ask the model, run its calls, repeat until it has nothing more to do. The turn owns the
//! conversation while it runs; interrupts and steering reach it through its control.

use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;

use super::compact::FitError;
use super::control::{Events, TurnControl};
use super::conversation::Conversation;
use super::dispatch::Dispatcher;
use crate::config::settings::ContextSettings;
use crate::context::builder::{self, Built};
use crate::context::compress::redact;
use crate::context::law::Law;
use crate::context::layer::LayerInputs;
use crate::context::ledger::Ledger;
use crate::context::mention;
use crate::model::call::ToolCall;
use crate::model::item::{Item, ItemId, UserMessage};
use crate::model::request::{Params, Request};
use crate::model::stream::StreamEvent;
use crate::model::usage::{FinishReason, Usage};
use crate::protocol::event::{EndReason, Event, Level, TurnEnd};
use crate::provider::api::{Provider, ProviderError};
use crate::search::fuzzy;
use crate::session::log::LogError;
use crate::tool::plan::todo;

/// Times that an answer which did not fit the window is asked for again after making room.
const OVERFLOW_TRIES: u32 = 3;

/// Everything that a turn works with.
pub struct Core {
    pub conversation: Conversation,
    pub provider: Arc<dyn Provider>,
    pub params: Params,
    pub light_model: Option<Arc<str>>,
    pub context: ContextSettings,
    pub law: Law,
    pub dispatcher: Dispatcher,
    pub max_steps: u32,
    pub system: Arc<str>,
    pub system_tokens: u32,
    pub tools_tokens: u32,
    pub summary_failures: u32,
    pub last_estimate: u64,
}

/// What ends a turn early.
enum Stop {
    Interrupted,
    Provider(ProviderError),
    Failed { message: String, hint: String },
}

impl From<LogError> for Stop {
    fn from(error: LogError) -> Self {
        Self::Failed {
            message: error.to_string(),
            hint: "free some disk space or make the state folder writable, then send the message again"
                .to_owned(),
        }
    }
}

impl From<FitError> for Stop {
    fn from(error: FitError) -> Self {
        match error {
            FitError::Log(error) => error.into(),
            FitError::TooSmall { needed, window } => Self::Failed {
                message: format!("the request needs {needed} tokens, the window has {window}"),
                hint: "shorten the rules file or the message, or set a larger context_window".to_owned(),
            },
        }
    }
}

/// One answer of the model.
struct Reply {
    calls: Vec<Arc<ToolCall>>,
    finish: FinishReason,
    said_something: bool,
}

impl Core {
    /// Runs a turn to its end and reports it; the conversation is complete on disk afterwards.
    pub async fn run_turn(&mut self, text: String, control: &Arc<TurnControl>, events: &Events) -> TurnEnd {
        let begun = Instant::now();
        let usage_before = self.conversation.total();
        let mut steps = 0;
        let _ = events.send(Event::TurnStarted { text: text.clone() });
        let (first, outcome) = match self.begin(&text) {
            Ok(id) => (Some(id), self.steps(&mut steps, control, events).await),
            Err(error) => (None, Err(error.into())),
        };
        let reason = match outcome {
            Ok(reason) => reason,
            Err(Stop::Interrupted) => EndReason::Interrupted,
            Err(Stop::Failed { message, hint }) => EndReason::Failed { message, hint },
            Err(Stop::Provider(error)) => EndReason::ProviderFailed {
                message: error.to_string(),
                hint: error.hint().to_owned(),
                prompt_returned: self.take_back(first, steps, &text),
            },
        };
        let end = TurnEnd {
            reason,
            steps,
            denied: self.dispatcher.take_denied(),
            usage: since(self.conversation.total(), usage_before),
            elapsed_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        };
        if let Err(error) = self.conversation.end_turn(end.clone()) {
            notice(events, Level::Error, error.to_string());
        }
        let _ = events
            .send(Event::Window(self.conversation.window(self.last_estimate, self.context.window_tokens)));
        let _ = events.send(Event::TurnEnded(end.clone()));
        end
    }

    /// Writes the person's message, with what belongs behind it.
    fn begin(&mut self, text: &str) -> Result<ItemId, LogError> {
        self.law.refresh(self.dispatcher.root());
        self.adopt_where_it_pays()?;
        let message = self.user_message(text, false);
        Ok(self.conversation.record(Item::User(message))?.0)
    }

    fn user_message(&self, text: &str, steering: bool) -> UserMessage {
        let root = self.dispatcher.root();
        let mut message = UserMessage::new(&redact::redact(text));
        message.steering = steering;
        let nearest = |wanted: &str| fuzzy::nearest(root, wanted, 1).into_iter().next().map(|(path, _)| path);
        if let Some(reminder) = mention::reminder(text, root, nearest) {
            message.injected.push(reminder.into());
        }
        if self.conversation.history.entries().is_empty() {
            message.injected.push(self.surroundings().into());
        }
        message
    }

    /// What a first message says of the machine: dynamic, therefore not in L1.
    fn surroundings(&self) -> String {
        format!(
            "<system-reminder>Workspace: {}. {} {}. Today: {}.</system-reminder>",
            self.dispatcher.root().display(),
            std::env::consts::OS,
            std::env::consts::ARCH,
            jiff::Zoned::now().date()
        )
    }

    /// A provider that failed before anything of the turn was answered gives the message back: it leaves the history.
    fn take_back(&mut self, first: Option<ItemId>, steps: u32, text: &str) -> Option<String> {
        let first = first.filter(|_| steps == 0)?;
        self.conversation.rewind(first).ok()?;
        Some(text.to_owned())
    }

    async fn steps(
        &mut self,
        steps: &mut u32,
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<EndReason, Stop> {
        loop {
            self.take_steering(control, events)?;
            if control.cancel.is_cancelled() {
                return Err(Stop::Interrupted);
            }
            if *steps >= self.max_steps {
                return Ok(EndReason::StepLimit { limit: self.max_steps });
            }
            let reply = self.ask(*steps == 0, control, events).await?;
            *steps += 1;
            if reply.finish == FinishReason::Length {
                notice(events, Level::Warning, "The answer was cut at the model's output limit.".to_owned());
            }
            if reply.finish == FinishReason::ContentFilter {
                notice(events, Level::Warning, "The server's content filter ended the answer.".to_owned());
            }
            if reply.calls.is_empty() {
                if !reply.said_something {
                    notice(
                        events,
                        Level::Warning,
                        "The model answered with nothing. Ask again or say more.".to_owned(),
                    );
                }
                let more = self.take_steering(control, events)?;
                if !more {
                    return Ok(EndReason::Done);
                }
                continue;
            }
            self.run_calls(&reply.calls, control, events).await?;
        }
    }

    /// Takes up what was typed meanwhile; returns whether there was anything.
    fn take_steering(&mut self, control: &TurnControl, events: &Events) -> Result<bool, Stop> {
        let mut any = false;
        for text in control.take_steering() {
            let message = self.user_message(&text, true);
            self.conversation.record(Item::User(message))?;
            let _ = events.send(Event::Steered { text });
            any = true;
        }
        Ok(any)
    }

    async fn run_calls(
        &mut self,
        calls: &[Arc<ToolCall>],
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<(), Stop> {
        for group in self.dispatcher.groups(calls) {
            let results = self
                .dispatcher
                .run_group(group, control, events)
                .await
                .map_err(|message| Stop::Failed { message, hint: "see the message above".to_owned() })?;
            for result in results {
                let (id, item) = self.conversation.record(Item::ToolResult(result))?;
                if let Item::ToolResult(result) = &*item {
                    let _ = events.send(Event::ToolDone { id, result: Arc::new(result.clone()) });
                }
            }
        }
        if control.cancel.is_cancelled() { Err(Stop::Interrupted) } else { Ok(()) }
    }

    /// One model reply, making room and asking again when the server says that the request does not fit.
    async fn ask(&mut self, first: bool, control: &Arc<TurnControl>, events: &Events) -> Result<Reply, Stop> {
        let mut tries = 0;
        loop {
            let built = self.next_request(control, events).await?;
            match self.stream(&built.request, first, control, events).await {
                Err(Stop::Provider(ProviderError::ContextFull { message })) if tries < OVERFLOW_TRIES => {
                    tries += 1;
                    notice(
                        events,
                        Level::Warning,
                        format!("The server says the window is full ({message}); making room."),
                    );
                    // The real window is smaller than we thought: believe the server from now on.
                    self.context.window_tokens =
                        (self.size() * 9 / 10).min(self.context.window_tokens * 9 / 10).max(2_048);
                    self.context.output_reserve_tokens =
                        self.context.output_reserve_tokens.min(self.context.window_tokens / 8);
                }
                other => return other,
            }
        }
    }

    async fn next_request(&mut self, control: &Arc<TurnControl>, events: &Events) -> Result<Built, Stop> {
        self.fit(control, events).await?;
        if control.cancel.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        let built = self.build();
        self.last_estimate = built.ledger.total();
        if control.ledger_wanted() {
            let _ = events.send(Event::Ledger(self.ledger_view(&built.ledger)));
        }
        Ok(built)
    }

    /// The next request and its ledger.
    pub fn build(&self) -> Built {
        let recap = todo::recap(&self.dispatcher.cx.todos.get());
        let inputs = LayerInputs {
            system: &self.system,
            tools: self.dispatcher.specs(),
            system_tokens: self.system_tokens,
            tools_tokens: self.tools_tokens,
            law: self.law.text(),
            law_tokens: self.law.tokens(),
            history: &self.conversation.history,
            todo_recap: recap.as_deref(),
        };
        builder::build(&inputs, &self.params)
    }

    /// The ledger as people see it.
    pub fn ledger_view(&self, ledger: &Ledger) -> crate::protocol::event::LedgerView {
        ledger.view(&self.conversation.history, &self.context, &self.conversation.calibration)
    }

    async fn stream(
        &mut self,
        request: &Request,
        first: bool,
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<Reply, Stop> {
        let mut answer = self.provider.stream(request);
        let mut finished: Vec<Item> = Vec::new();
        let mut partial = String::new();
        let (finish, usage) = loop {
            let event = tokio::select! {
                biased;
                () = control.cancel.cancelled() => {
                    drop(answer);
                    self.keep_partial(finished, &partial)?;
                    return Err(Stop::Interrupted);
                }
                event = answer.next() => event,
            };
            match event {
                Some(Ok(StreamEvent::TextDelta(text))) => {
                    partial.push_str(&text);
                    let _ = events.send(Event::TextDelta(text));
                }
                Some(Ok(StreamEvent::ReasoningDelta(text))) => {
                    let _ = events.send(Event::ReasoningDelta(text));
                }
                Some(Ok(StreamEvent::CallStarted { name })) => {
                    let _ = events.send(Event::CallArriving { name, bytes: 0 });
                }
                Some(Ok(StreamEvent::CallProgress { bytes })) => {
                    let _ = events.send(Event::CallArriving { name: String::new(), bytes });
                }
                Some(Ok(StreamEvent::Item(item))) => {
                    if matches!(item, Item::Assistant { .. }) {
                        partial.clear();
                    }
                    finished.push(item);
                }
                Some(Ok(StreamEvent::Restarted { attempt, wait, reason })) => {
                    finished.clear();
                    partial.clear();
                    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    let _ = events.send(Event::Retrying { attempt, wait_ms, reason });
                }
                Some(Ok(StreamEvent::Done { finish, usage })) => break (finish, usage),
                Some(Err(error)) => {
                    if !first {
                        self.keep_partial(finished, &partial)?;
                    }
                    return Err(Stop::Provider(error));
                }
                None => {
                    return Err(Stop::Provider(ProviderError::Broken {
                        message: "the stream ended without an end mark".to_owned(),
                    }));
                }
            }
        };
        let full = finish == FinishReason::Length && !finished.iter().any(has_substance);
        if full && self.size() > self.context.window_tokens * 6 / 10 {
            // A server that silently stops at its window's end: the same as saying that the request does not fit.
            return Err(Stop::Provider(ProviderError::ContextFull {
                message: "the answer ended at once at the length limit".to_owned(),
            }));
        }
        self.take_up(finished, finish, usage, events)
    }

    /// Writes a finished answer.
    fn take_up(
        &mut self,
        finished: Vec<Item>,
        finish: FinishReason,
        usage: Option<Usage>,
        events: &Events,
    ) -> Result<Reply, Stop> {
        let mut calls: Vec<Arc<ToolCall>> = Vec::new();
        let mut taken: Vec<Arc<str>> = Vec::new();
        let mut said_something = false;
        for mut item in finished {
            if let Item::ToolCall(call) = &mut item {
                call.id = self.conversation.unique_call_id(&call.id, &taken);
                taken.push(Arc::clone(&call.id));
            }
            said_something |= has_substance(&item);
            let (id, item) = self.conversation.record(item)?;
            match &*item {
                Item::ToolCall(call) => calls.push(Arc::new(call.clone())),
                _ => {
                    let _ = events.send(Event::Item { id, item });
                }
            }
        }
        let model = self.params.model.to_string();
        self.conversation.answered(&model, self.last_estimate, usage)?;
        let _ = events
            .send(Event::Window(self.conversation.window(self.last_estimate, self.context.window_tokens)));
        Ok(Reply { calls, finish, said_something })
    }

    /// What was said before an interrupt stays; calls that were not yet run do not, nor does thinking that led nowhere.
    fn keep_partial(&mut self, finished: Vec<Item>, partial: &str) -> Result<(), Stop> {
        for item in finished {
            if matches!(item, Item::Assistant { .. }) {
                self.conversation.record(item)?;
            }
        }
        if !partial.trim().is_empty() {
            let text = format!("{}\n[interrupted]", partial.trim_end());
            self.conversation.record(Item::Assistant { text: text.into() })?;
        }
        Ok(())
    }
}

fn has_substance(item: &Item) -> bool {
    match item {
        Item::ToolCall(_) => true,
        Item::Assistant { text } => !text.trim().is_empty(),
        _ => false,
    }
}

fn since(now: Usage, before: Usage) -> Usage {
    Usage {
        input: now.input - before.input,
        cached: now.cached - before.cached,
        cache_write: now.cache_write - before.cache_write,
        output: now.output - before.output,
        reasoning: now.reasoning - before.reasoning,
    }
}

fn notice(events: &Events, level: Level, text: String) {
    let _ = events.send(Event::Notice { level, text });
}
