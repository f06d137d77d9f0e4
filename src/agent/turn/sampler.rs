//! One answer of the model: the request goes out, deltas go to the eyes, finished items into the log. Makes room and asks
//! again when the server says that the request does not fit.

use std::sync::Arc;

use futures_util::StreamExt;

use super::error::TurnError;
use super::repetition_guard::{self, RepetitionGuard, has_substance};
use super::stream_accumulator::StreamAccumulator;
use crate::agent::control::{Events, TurnControl, notice};
use crate::agent::core::Core;
use crate::context::builder::Built;
use crate::context::history::entry::Entry;
use crate::model::call::ToolCall;
use crate::model::item::Item;
use crate::model::request::Request;
use crate::model::usage::{FinishReason, Usage};
use crate::protocol::event::{Event, Level};
use crate::provider::api::ProviderError;
use crate::session::record::FormName;

/// Times that a request which did not fit the window is sent again: after the first refusal with as much room as the
/// server names, or else half of it; after the second one with a quarter.
const OVERFLOW_TRIES: u32 = 2;

/// One answer of the model.
pub struct Reply {
    pub calls: Vec<Arc<ToolCall>>,
    pub finish: FinishReason,
    pub said_something: bool,
}

/// What was done so far to make a request and its answer fit the window.
struct Fitting {
    /// The window and the reserve that were believed in before, in tokens.
    believed: (u64, u64),
    /// Requests that the server refused as too large.
    refusals: u32,
    /// The last of them: its size in tokens, and what the server said.
    refused: Option<(u64, String)>,
    /// Times that nothing smaller could be made of it.
    stuck: u32,
    /// An answer came to the end of the window already.
    filled: bool,
}

impl Core {
    /// One model reply, making room and asking again when the server says that the request does not fit.
    ///
    /// # Errors
    /// [`TurnError`].
    pub async fn ask(&mut self, control: &Arc<TurnControl>, events: &Events) -> Result<Reply, TurnError> {
        let believed = (self.context.window_tokens, self.context.output_reserve_tokens);
        let mut fitting = Fitting { believed, refusals: 0, refused: None, stuck: 0, filled: false };
        loop {
            let built = self.fitted_request(&mut fitting, control, events).await?;
            let parts = self.parts();
            self.conversation.send(&parts, &built)?;
            match self.stream(&built.request, !fitting.filled, control, events).await {
                Err(TurnError::NoRoom) => {
                    fitting.filled = true;
                    self.make_room_for_the_answer(believed, control, events).await?;
                }
                Err(TurnError::Provider { error: error @ ProviderError::ContextFull { .. }, .. })
                    if fitting.refusals < OVERFLOW_TRIES =>
                {
                    fitting.refusals += 1;
                    self.make_room(&error, &fitting);
                    let ProviderError::ContextFull { message } = error else { continue };
                    let text = format!("The server says the window is full ({message}); making room.");
                    notice(events, Level::Warning, text);
                    fitting.refused = Some((built.ledger.total(), message));
                }
                other => {
                    if matches!(
                        other,
                        Err(TurnError::Provider { error: ProviderError::ContextFull { .. }, .. })
                    ) {
                        self.believe(believed);
                    }
                    return other;
                }
            }
        }
    }

    /// The next request; after a refusal a smaller one, if there can be one.
    async fn fitted_request(
        &mut self,
        fitting: &mut Fitting,
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<Built, TurnError> {
        let mut built = match self.next_request(control, events).await {
            Err(TurnError::Failed { .. }) if fitting.refused.is_some() => {
                self.believe(fitting.believed);
                self.next_request(control, events).await?
            }
            other => other?,
        };
        let size = built.ledger.total();
        if let Some((_, message)) = fitting.refused.take_if(|(last, _)| size >= *last) {
            // Nothing more can be given up: the window is not what the server minds, or far too small. Once it is asked
            // again nevertheless: some servers have slots that are full now and then.
            fitting.stuck += 1;
            self.believe(fitting.believed);
            if fitting.stuck > 1 {
                return Err(TurnError::full(message));
            }
            // What is said of the answer's room is that of the window.
            built = self.build();
        }
        Ok(built)
    }

    /// The window is as large as it was, but the answer needs more of it.
    async fn make_room_for_the_answer(
        &mut self,
        believed: (u64, u64),
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<(), TurnError> {
        let reason = "the answer came to the end of the window; making room".to_owned();
        let _ = events.send(Event::Retrying { attempt: 2, of: 2, wait_ms: 0, reason });
        self.context.window_tokens = self.context.window_tokens * 7 / 10;
        self.window_changed();
        let made = self.next_request(control, events).await.map(drop);
        self.believe(believed);
        made
    }

    /// The real window is smaller than we thought: believe the server from now on. A number that it names is the window
    /// as it counts; where that explains nothing, or did not help, the request is made much smaller.
    fn make_room(&mut self, error: &ProviderError, fitting: &Fitting) {
        let size = self.size();
        let told = error.context_limit().filter(|told| fitting.refusals == 1 && *told < fitting.believed.0);
        let room = told.map_or(size >> fitting.refusals, |told| (told * 9 / 10).min(size * 9 / 10));
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

    async fn next_request(
        &mut self,
        control: &Arc<TurnControl>,
        events: &Events,
    ) -> Result<Built, TurnError> {
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
            return Err(TurnError::Interrupted);
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
    ) -> Result<Reply, TurnError> {
        let mut answer = self.provider.stream(request);
        let watch = RepetitionGuard::new(self.context.window_tokens, self.params.max_output_tokens);
        let mut arriving = StreamAccumulator::new(watch);
        let (finish, usage) = loop {
            let event = tokio::select! {
                biased;
                () = control.cancel.cancelled() => {
                    drop(answer);
                    self.keep_partial(&arriving.said(), events)?;
                    return Err(TurnError::Interrupted);
                }
                event = answer.next() => event,
            };
            match arriving.take(event, events) {
                Ok(None) => {}
                Ok(Some(ended)) => break ended,
                Err(error) => {
                    drop(answer);
                    // What did not fit is sent again, smaller: an earlier try's words have no place in that request.
                    if !matches!(error, ProviderError::ContextFull { .. }) {
                        self.keep_partial(&arriving.said(), events)?;
                    }
                    return Err(TurnError::Provider { error, tries: arriving.tries() });
                }
            }
        };
        // A compaction helps only where the past takes most of the window.
        if finish == FinishReason::Length && self.size() > self.context.window_tokens * 6 / 10 {
            if !arriving.finished().iter().any(has_substance) {
                // A server that silently stops at its window's end: the same as saying that the request does not fit.
                return Err(TurnError::full("the answer ended at once at the length limit".to_owned()));
            }
            let reported = usage.map(|usage| usage.total());
            let taken = reported.unwrap_or_else(|| self.size() + arriving.bytes() / 4);
            if may_fill && taken >= self.context.window_tokens * 97 / 100 {
                return Err(TurnError::NoRoom);
            }
        }
        self.take_up(arriving.into_finished(), finish, usage, events)
    }

    /// Writes a finished answer.
    fn take_up(
        &mut self,
        finished: Vec<Item>,
        finish: FinishReason,
        usage: Option<Usage>,
        events: &Events,
    ) -> Result<Reply, TurnError> {
        let mut calls: Vec<Arc<ToolCall>> = Vec::new();
        let mut taken: Vec<Arc<str>> = Vec::new();
        let whole = repetition_guard::whole(finished, &finish);
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
    fn keep_partial(&mut self, said: &str, events: &Events) -> Result<(), TurnError> {
        if said.trim().is_empty() {
            return Ok(());
        }
        let (id, item) = self.record_said(repetition_guard::kept(said))?;
        let _ = events.send(Event::Item { id, item });
        Ok(())
    }
}
