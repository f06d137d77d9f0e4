//! One answer of the model: the request goes out, deltas go to the eyes, finished items into the log. Makes room and asks
//! again when the server says that the request does not fit.

use std::sync::Arc;

use futures_util::StreamExt;

use super::compact::FitError;
use super::control::{Events, TurnControl};
use super::core::Core;
use crate::context::builder::Built;
use crate::context::history::entry::Entry;
use crate::model::call::ToolCall;
use crate::model::item::Item;
use crate::model::request::Request;
use crate::model::stream::StreamEvent;
use crate::model::usage::{FinishReason, Usage};
use crate::protocol::event::{Event, Level};
use crate::provider::api::ProviderError;
use crate::session::log::LogError;
use crate::session::record::FormName;

/// Times that an answer which did not fit the window is asked for again after making room.
const OVERFLOW_TRIES: u32 = 3;

/// What ends a turn early.
pub enum Stop {
    Interrupted,
    Provider(ProviderError),
    Failed { message: String, hint: String },
}

impl Stop {
    /// The answer ended at the output limit: what was said stays, the task is not done.
    pub fn cut() -> Self {
        Self::Failed {
            message: "the answer was cut at the model's output limit".to_owned(),
            hint: "say \"go on\" to continue, or raise max_output_tokens".to_owned(),
        }
    }

    /// The model had nothing to say, repeatedly.
    pub fn empty() -> Self {
        Self::Failed {
            message: "the model answered with nothing".to_owned(),
            hint: "ask again or say more; if it happens often, try another model".to_owned(),
        }
    }
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
            FitError::TooSmall { needed, window, rules } => Self::Failed {
                message: format!(
                    "the smallest request that can be made takes up to {needed} tokens ({rules} of them the rules \
                     files), and the window has {window}"
                ),
                hint: "set a larger context_window, shorten the rules files, or unpin what /context shows as pinned"
                    .to_owned(),
            },
        }
    }
}

/// One answer of the model.
pub struct Reply {
    pub calls: Vec<Arc<ToolCall>>,
    pub finish: FinishReason,
    pub said_something: bool,
}

impl Core {
    /// One model reply, making room and asking again when the server says that the request does not fit.
    ///
    /// # Errors
    /// [`Stop`].
    pub async fn ask(
        &mut self,
        first: bool,
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<Reply, Stop> {
        let believed = (self.context.window_tokens, self.context.output_reserve_tokens);
        let mut tries = 0;
        let mut refused: Option<(u64, String)> = None;
        loop {
            let built = match self.next_request(control, events).await {
                Err(Stop::Failed { .. }) if refused.is_some() => {
                    (self.context.window_tokens, self.context.output_reserve_tokens) = believed;
                    let message = refused.map(|(_, message)| message).unwrap_or_default();
                    return Err(Stop::Provider(ProviderError::ContextFull { message }));
                }
                other => other?,
            };
            let size = built.ledger.total();
            if let Some((_, message)) = refused.take_if(|(last, _)| size >= *last) {
                // Nothing more can be given up: the window is not what the server minds, or far too small.
                (self.context.window_tokens, self.context.output_reserve_tokens) = believed;
                return Err(Stop::Provider(ProviderError::ContextFull { message }));
            }
            let parts = self.parts();
            self.conversation.send(&parts, &built)?;
            match self.stream(&built.request, first, control, events).await {
                Err(Stop::Provider(ProviderError::ContextFull { message })) if tries < OVERFLOW_TRIES => {
                    tries += 1;
                    refused = Some((size, message.clone()));
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
                    self.window_changed();
                }
                other => return other,
            }
        }
    }

    async fn next_request(&mut self, control: &Arc<TurnControl>, events: &Events) -> Result<Built, Stop> {
        self.take_edits(control, events)?;
        self.count_exactly();
        let cut_before = self.cut_messages();
        self.fit_or_release(control, events).await?;
        if self.cut_messages() > cut_before {
            let text = "Your message does not fit the window: the model sees its beginning and end and can recall \
                        the rest. Put long text into a file and name it with @ instead.";
            notice(events, Level::Warning, text.to_owned());
        }
        if control.cancel.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        self.prepare_summary();
        let built = self.build();
        self.last_estimate = built.ledger.total();
        self.last_counted = built.ledger.counted();
        Ok(built)
    }

    /// Messages of the running turn that are not sent whole.
    fn cut_messages(&self) -> usize {
        let history = &self.conversation.history;
        let running = &history.entries()[history.turn_start()..];
        let cut = |entry: &&Entry| matches!(&*entry.item, Item::User(_)) && entry.form() != FormName::Full;
        running.iter().filter(cut).count()
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
            if let Item::ToolCall(call) = &item {
                // What is run is the call as it was made; what is kept of it holds no secret.
                calls.push(Arc::new(call.clone()));
            }
            let (id, item) = self.record_said(item)?;
            if !matches!(&*item, Item::ToolCall(_)) {
                let _ = events.send(Event::Item { id, item });
            }
        }
        let model = self.params.model.to_string();
        self.conversation.answered(&model, self.last_estimate, self.last_counted, usage)?;
        self.take_counts();
        self.mind_truncation(events);
        let _ = events
            .send(Event::Window(self.conversation.window(self.last_estimate, self.context.window_tokens)));
        Ok(Reply { calls, finish, said_something })
    }

    /// What was said before an interrupt stays; calls that were not yet run do not, nor does thinking that led nowhere.
    fn keep_partial(&mut self, finished: Vec<Item>, partial: &str) -> Result<(), Stop> {
        for item in finished {
            if matches!(item, Item::Assistant { .. }) {
                self.record_said(item)?;
            }
        }
        if !partial.trim().is_empty() {
            let text = format!("{}\n[interrupted]", partial.trim_end());
            self.record_said(Item::Assistant { text: text.into() })?;
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

/// Tells the person something.
pub fn notice(events: &Events, level: Level, text: String) {
    let _ = events.send(Event::Notice { level, text });
}
