//! One answer of the model: the request goes out, deltas go to the eyes, finished items into the log. Makes room and asks
//! again when the server says that the request does not fit.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;

use super::compact::FitError;
use super::control::{Events, TurnControl};
use super::core::Core;
use super::unfinished::{self, Runaway, has_substance, said};
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

/// Times that a request which did not fit the window is sent again: after the first refusal with as much room as the
/// server names, or else half of it; after the second one with a quarter.
const OVERFLOW_TRIES: u32 = 2;

/// What ends a turn early.
pub enum Stop {
    Interrupted,
    Provider {
        error: ProviderError,
        /// How often it was tried.
        tries: u32,
    },
    /// The answer filled the window to its end.
    NoRoom,
    /// The model said nothing.
    Unanswered {
        message: String,
        hint: String,
        /// It is the message that the server did not want to answer.
        refused: bool,
    },
    Failed {
        message: String,
        hint: String,
    },
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
        Self::Unanswered {
            message: "the model answered with nothing".to_owned(),
            hint: "ask again or say more; if it happens often, try another model".to_owned(),
            refused: false,
        }
    }

    /// The output limit was reached before anything was said.
    pub fn only_thought() -> Self {
        Self::Unanswered {
            message: "the model reached its output limit before it said anything".to_owned(),
            hint: "raise max_output_tokens or lower reasoning_effort (thinking counts as output), then send the \
                   message again"
                .to_owned(),
            refused: false,
        }
    }

    /// A filter of the server ended the answer.
    pub fn filtered(said_something: bool) -> Self {
        let message = "the server's content filter ended the answer".to_owned();
        let hint = "say it in other words, or use another model".to_owned();
        if said_something {
            Self::Failed { message, hint }
        } else {
            Self::Unanswered { message, hint, refused: true }
        }
    }

    fn full(message: String) -> Self {
        Self::Provider { error: ProviderError::ContextFull { message }, tries: 1 }
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
    pub async fn ask(&mut self, control: &Arc<TurnControl>, events: &Events) -> Result<Reply, Stop> {
        let believed = (self.context.window_tokens, self.context.output_reserve_tokens);
        let mut tries = 0;
        let mut filled = false;
        let mut same = 0;
        let mut refused: Option<(u64, String)> = None;
        loop {
            let mut built = match self.next_request(control, events).await {
                Err(Stop::Failed { .. }) if refused.is_some() => {
                    self.believe(believed);
                    self.next_request(control, events).await?
                }
                other => other?,
            };
            let size = built.ledger.total();
            if let Some((_, message)) = refused.take_if(|(last, _)| size >= *last) {
                // Nothing more can be given up: the window is not what the server minds, or far too small. Once it is
                // asked again nevertheless: some servers have slots that are full now and then.
                same += 1;
                self.believe(believed);
                if same > 1 {
                    return Err(Stop::full(message));
                }
                // What is said of the answer's room is that of the window.
                built = self.build();
            }
            let parts = self.parts();
            self.conversation.send(&parts, &built)?;
            match self.stream(&built.request, !filled, control, events).await {
                Err(Stop::NoRoom) => {
                    filled = true;
                    let reason = "the answer came to the end of the window; making room".to_owned();
                    let _ = events.send(Event::Retrying { attempt: 2, of: 2, wait_ms: 0, reason });
                    // The window is as large as it was; the answer needs more of it.
                    self.context.window_tokens = self.context.window_tokens * 7 / 10;
                    self.window_changed();
                    let made = self.next_request(control, events).await.map(drop);
                    self.believe(believed);
                    made?;
                }
                Err(Stop::Provider { error: error @ ProviderError::ContextFull { .. }, .. })
                    if tries < OVERFLOW_TRIES =>
                {
                    tries += 1;
                    self.make_room(&error, tries, believed.0);
                    let ProviderError::ContextFull { message } = error else { continue };
                    notice(
                        events,
                        Level::Warning,
                        format!("The server says the window is full ({message}); making room."),
                    );
                    refused = Some((size, message));
                }
                other => {
                    if matches!(other, Err(Stop::Provider { error: ProviderError::ContextFull { .. }, .. })) {
                        self.believe(believed);
                    }
                    return other;
                }
            }
        }
    }

    /// The real window is smaller than we thought: believe the server from now on. A number that it names is the window
    /// as it counts; where that explains nothing, or did not help, the request is made much smaller.
    fn make_room(&mut self, error: &ProviderError, tries: u32, believed: u64) {
        let size = self.size();
        let told = error.told_window().filter(|told| tries == 1 && *told < believed);
        let room = told.map_or(size >> tries, |told| (told * 9 / 10).min(size * 9 / 10));
        // A server that is wrong about it shall not make us forget what the task is.
        self.context.window_tokens =
            room.max(self.smallest_window()).min(self.context.window_tokens * 9 / 10);
        self.context.output_reserve_tokens =
            self.context.output_reserve_tokens.min(self.context.window_tokens / 8);
        self.window_changed();
    }

    /// Takes the window for what it was taken for before.
    fn believe(&mut self, (window, reserve): (u64, u64)) {
        (self.context.window_tokens, self.context.output_reserve_tokens) = (window, reserve);
        self.window_changed();
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
        may_fill: bool,
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<Reply, Stop> {
        let mut answer = self.provider.stream(request);
        let mut finished: Vec<Item> = Vec::new();
        let mut partial = String::new();
        let mut tries = 1;
        // What the last try that said anything had said.
        let mut earlier = String::new();
        let mut watch = Runaway::new(self.context.window_tokens, self.params.max_output_tokens);
        let (finish, usage) = loop {
            let event = tokio::select! {
                biased;
                () = control.cancel.cancelled() => {
                    drop(answer);
                    self.keep_partial(said(&finished, &partial).unwrap_or(earlier), events)?;
                    return Err(Stop::Interrupted);
                }
                event = answer.next() => event,
            };
            if let Some(Ok(StreamEvent::TextDelta(text) | StreamEvent::ReasoningDelta(text))) = &event
                && let Some(message) = watch.take(text)
            {
                drop(answer);
                self.keep_partial(said(&finished, &partial).unwrap_or_default(), events)?;
                return Err(Stop::Provider { error: ProviderError::TooLarge { message }, tries });
            }
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
                Some(Ok(StreamEvent::Restarted { attempt, of, wait, reason })) => {
                    earlier = said(&finished, &partial).unwrap_or(earlier);
                    finished.clear();
                    partial.clear();
                    tries = attempt;
                    watch.restart();
                    let _ = events.send(Event::Retrying { attempt, of, wait_ms: milliseconds(wait), reason });
                }
                Some(Ok(StreamEvent::Silent { since, left })) => {
                    let (since_ms, left_ms) = (milliseconds(since), milliseconds(left));
                    let _ = events.send(Event::Silent { since_ms, left_ms });
                }
                Some(Ok(StreamEvent::Done { finish, usage })) => break (finish, usage),
                Some(Err(error)) => {
                    // What did not fit is sent again, smaller: an earlier try's words have no place in that request.
                    if !matches!(error, ProviderError::ContextFull { .. }) {
                        self.keep_partial(said(&finished, &partial).unwrap_or(earlier), events)?;
                    }
                    return Err(Stop::Provider { error, tries });
                }
                None => {
                    let message = "the stream ended without an end mark".to_owned();
                    return Err(Stop::Provider { error: ProviderError::Broken { message }, tries });
                }
            }
        };
        // A compaction helps only where the past takes most of the window.
        if finish == FinishReason::Length && self.size() > self.context.window_tokens * 6 / 10 {
            if !finished.iter().any(has_substance) {
                // A server that silently stops at its window's end: the same as saying that the request does not fit.
                return Err(Stop::full("the answer ended at once at the length limit".to_owned()));
            }
            let reported = usage.map(|usage| usage.input.saturating_add(usage.output));
            let taken = reported.unwrap_or_else(|| self.size() + watch.bytes() / 4);
            if may_fill && taken >= self.context.window_tokens * 97 / 100 {
                return Err(Stop::NoRoom);
            }
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
        let whole = unfinished::whole(finished, &finish);
        let said_something = whole.iter().any(has_substance);
        for mut item in whole {
            // Of an answer that says and does nothing nothing is kept, so that asking once more is the same request;
            // servers refuse empty texts in a history.
            let empty = matches!(item, Item::Assistant { .. }) && !has_substance(&item);
            if empty || !said_something {
                continue;
            }
            if let Item::ToolCall(call) = &mut item {
                call.id = self.conversation.unique_call_id(&call.id, &taken);
                taken.push(Arc::clone(&call.id));
            }
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

    /// What was said before an interrupt or a break stays; calls that were not yet run do not, nor does thinking that led
    /// nowhere.
    fn keep_partial(&mut self, said: String, events: &Events) -> Result<(), Stop> {
        if said.trim().is_empty() {
            return Ok(());
        }
        let (id, item) = self.record_said(unfinished::kept(&said))?;
        let _ = events.send(Event::Item { id, item });
        Ok(())
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Tells the person something.
pub fn notice(events: &Events, level: Level, text: String) {
    let _ = events.send(Event::Notice { level, text });
}
