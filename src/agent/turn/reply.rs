//! One reply of the model, recorded: asks with a request that fits, and makes room and asks again when the server says
//! that it does not.

use std::sync::Arc;

use super::error::TurnError;
use crate::control::{Events, TurnControl, notice};
use crate::sampling::sampler::{Sampled, Sampler, Unfinished, UnfinishedCause};
use crate::session::conversation::Conversation;
use crate::window::context_window::ContextWindow;
use crate::window::request::NextRequest;
use base::model::call::ToolCall;
use base::model::item::{Item, ItemId};
use base::model::provider::ProviderError;
use base::model::usage::FinishReason;
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use base::text;
use context::session::log::LogError;
use guard::redact::redactor::Redactor;

/// Times that a request which did not fit the window is sent again: after the first refusal with as much room as the
/// server names, or else half of it; after the second one with a quarter.
const OVERFLOW_TRIES: u32 = 2;
/// What is kept of a reply that broke off, in characters.
const KEPT_CHARS: usize = 40_000;

/// One reply of the model.
pub struct Reply {
    pub calls: Vec<Arc<ToolCall>>,
    pub finish: FinishReason,
    pub said_something: bool,
}

impl Reply {
    /// Whether the reply ended before the model was done.
    pub fn was_cut(&self) -> bool {
        matches!(self.finish, FinishReason::Length | FinishReason::WindowFull)
    }

    /// The calls that came whole, and the last one if the reply ended in the middle of it.
    pub fn split_at_cut(&self) -> (&[Arc<ToolCall>], Option<&Arc<ToolCall>>) {
        match self.calls.split_last() {
            Some((last, whole)) if self.was_cut() && last.parsed_args().is_err() => (whole, Some(last)),
            _ => (&self.calls, None),
        }
    }
}

/// What was done so far to make a request and its reply fit the window.
struct Fitting {
    /// Window and reserve as they were taken to be before, in tokens.
    configured: (u64, u64),
    /// Requests that the server refused as too large.
    refusals: u32,
    /// The last of them: its size in tokens, and what the server said.
    refused: Option<(u64, String)>,
    /// Times that nothing smaller could be made of it.
    stuck: u32,
    /// A reply came to the end of the window already.
    filled: bool,
}

/// Asks for one reply.
pub struct ReplyRequest<'a> {
    pub conversation: &'a mut Conversation,
    pub window: &'a mut ContextWindow,
    pub sampler: &'a Sampler,
    pub redactor: &'a Redactor,
    pub control: &'a TurnControl,
    pub events: &'a Events,
}

impl ReplyRequest<'_> {
    /// One model reply, making room and asking again when the server says that the request does not fit.
    pub async fn ask(mut self) -> Result<Reply, TurnError> {
        let configured = self.window.size();
        let mut fitting = Fitting { configured, refusals: 0, refused: None, stuck: 0, filled: false };
        loop {
            let next = self.fitted_request(&mut fitting).await?;
            let cold = self.window.is_cold(self.conversation);
            self.conversation.record_request(&next.parts, &next.built, cold)?;
            let may_fill = !fitting.filled && fitting.refusals < OVERFLOW_TRIES;
            match self.sample(&next, may_fill).await {
                Err(TurnError::NoRoom) => {
                    fitting.filled = true;
                    self.make_room_for_reply(configured).await?;
                }
                Err(TurnError::Provider { error: ProviderError::ReasoningRejected { .. }, .. })
                    if self.without_reasoning(&next)? => {}
                Err(TurnError::Provider { error: error @ ProviderError::ContextFull { .. }, .. })
                    if fitting.refusals < OVERFLOW_TRIES =>
                {
                    fitting.refusals += 1;
                    self.make_room(&error, &fitting);
                    let ProviderError::ContextFull { message } = error else { continue };
                    notice(self.events, Level::Warning, texts::context_limit(&message));
                    fitting.refused = Some((next.built.ledger.total(), message));
                }
                other => {
                    if matches!(
                        other,
                        Err(TurnError::Provider { error: ProviderError::ContextFull { .. }, .. })
                    ) {
                        self.window.resize(configured);
                    }
                    return other;
                }
            }
        }
    }

    /// The server does not take its reasoning back, whatever the model table says of it: it is left out, and from here on it is
    /// taken to be bound. Whether there was any.
    fn without_reasoning(&mut self, refused: &NextRequest) -> Result<bool, LogError> {
        let any = refused.drop_reasoning(self.conversation)?;
        if any {
            self.window.bind_reasoning();
            notice(self.events, Level::Info, texts::reasoning_rejected());
        }
        Ok(any)
    }

    async fn next_request(&mut self) -> Result<NextRequest, TurnError> {
        let next =
            self.window.next_request(self.conversation, self.sampler, self.control, self.events).await?;
        Ok(next)
    }

    /// The next request; after a refusal a smaller one, if there can be one.
    async fn fitted_request(&mut self, fitting: &mut Fitting) -> Result<NextRequest, TurnError> {
        let mut next = match self.next_request().await {
            Err(TurnError::Failed(..)) if fitting.refused.is_some() => {
                self.window.resize(fitting.configured);
                self.next_request().await?
            }
            other => other?,
        };
        let size = next.built.ledger.total();
        if let Some((_, message)) = fitting.refused.take_if(|(last, _)| size >= *last) {
            // Nothing more can be given up: the window is not what the server minds, or far too small. It is asked once
            // more nevertheless: some servers have slots that are full now and then.
            fitting.stuck += 1;
            self.window.resize(fitting.configured);
            if fitting.stuck > 1 {
                return Err(TurnError::context_full(message));
            }
            // The room for the reply is that of the configured window.
            next = self.window.build(self.conversation, &self.sampler.params);
        }
        Ok(next)
    }

    /// The window is as large as it was, but the reply needs more of it.
    async fn make_room_for_reply(&mut self, configured: (u64, u64)) -> Result<(), TurnError> {
        let reason = texts::reply_filled_window();
        let _ = self.events.send(Event::Retrying { attempt: 2, of: 2, wait_ms: 0, reason });
        let (window, reserve) = self.window.size();
        self.window.resize((window * 7 / 10, reserve));
        let made = self.next_request().await.map(drop);
        self.window.resize(configured);
        made
    }

    /// The real window is smaller than configured. A number that the server names is the window as it counts; where that
    /// explains nothing, or did not help, the request is made much smaller.
    fn make_room(&mut self, error: &ProviderError, fitting: &Fitting) {
        let sizes = self.window.sizes(self.conversation);
        let (size, smallest) = (sizes.estimated(), sizes.smallest_window());
        let named =
            error.context_limit().filter(|named| fitting.refusals == 1 && *named < fitting.configured.0);
        let room = named.map_or(size >> fitting.refusals, |named| (named * 9 / 10).min(size * 9 / 10));
        let (window, reserve) = self.window.size();
        // A server that is wrong about it must not make the task itself be left out.
        let window = room.max(smallest).min(window * 9 / 10);
        self.window.resize((window, reserve.min(window / 8)));
    }

    async fn sample(&mut self, next: &NextRequest, may_fill: bool) -> Result<Reply, TurnError> {
        let window_tokens = self.window.settings().window_tokens;
        let request = &next.built.request;
        let sampled = match self.sampler.sample(request, window_tokens, self.control, self.events).await {
            Ok(sampled) => sampled,
            Err(Unfinished { said, cause: UnfinishedCause::Interrupt }) => {
                self.record_partial(&said)?;
                return Err(TurnError::Interrupted);
            }
            Err(Unfinished { said, cause: UnfinishedCause::Error { error, tries } }) => {
                // What is sent again in another form has no place for an earlier try's words.
                let again = matches!(
                    error,
                    ProviderError::ContextFull { .. } | ProviderError::ReasoningRejected { .. }
                );
                if !again {
                    self.record_partial(&said)?;
                }
                return Err(TurnError::Provider { error, tries });
            }
        };
        let size = self.window.sizes(self.conversation).estimated();
        if sampled.finish == FinishReason::WindowFull && may_fill {
            // The window is smaller than it was taken to be: the same as a refusal of the request.
            return Err(TurnError::context_full(
                "the reply reached the end of the context window".to_owned(),
            ));
        }
        // A compaction helps only where the past takes most of the window.
        if sampled.finish == FinishReason::Length && size > window_tokens * 6 / 10 {
            if !sampled.items.iter().any(has_substance) {
                // A server that silently stops at its window's end: the same as saying that the request does not fit.
                return Err(TurnError::context_full(
                    "the reply ended at once at the length limit".to_owned(),
                ));
            }
            let reported = sampled.usage.map(|usage| usage.total());
            let taken = reported.unwrap_or(size + sampled.bytes / 4);
            if may_fill && taken >= window_tokens * 97 / 100 {
                return Err(TurnError::NoRoom);
            }
        }
        self.record_reply(sampled)
    }

    /// Records a finished reply.
    fn record_reply(&mut self, sampled: Sampled) -> Result<Reply, TurnError> {
        let Sampled { items, finish, usage, .. } = sampled;
        let mut calls: Vec<Arc<ToolCall>> = Vec::new();
        let mut ids: Vec<Arc<str>> = Vec::new();
        let items = complete_items(items, &finish);
        let said_something = items.iter().any(has_substance);
        // Reasoning is bound to the words before it: behind what is kept without a secret it is good for nothing.
        let mut unbound = false;
        for mut item in items {
            if matches!(item, Item::Reasoning(_)) && (unbound || !self.redactor.redact_reasoning(&mut item)) {
                unbound = true;
                continue;
            }
            // Of a reply that says and does nothing nothing is kept, so that asking once more is the same request;
            // servers refuse empty texts in a history.
            let empty = matches!(item, Item::Assistant { .. }) && !has_substance(&item);
            if empty || !said_something {
                continue;
            }
            if let Item::ToolCall(call) = &mut item {
                call.id = self.conversation.unique_call_id(&call.id, &ids);
                ids.push(Arc::clone(&call.id));
                // What is run is the call as it was made; what is kept of it holds no secret.
                calls.push(Arc::new(call.clone()));
            }
            let said = item.text().into_owned();
            let (id, item) = self.record(item)?;
            unbound |= item.text() != said;
            if !matches!(&*item, Item::ToolCall(_)) {
                let _ = self.events.send(Event::Item { id, item });
            }
        }
        let params = &self.sampler.params;
        self.conversation.record_usage(&params.model, self.window.last_size(), usage)?;
        self.window.mind_truncation(self.conversation, self.events);
        let _ = self.events.send(Event::Window(self.window.state(self.conversation)));
        Ok(Reply { calls, finish, said_something })
    }

    /// What was said before an interrupt or an error stays; calls that were not yet run do not, nor does thinking that
    /// led nowhere.
    fn record_partial(&mut self, said: &str) -> Result<(), LogError> {
        if said.trim().is_empty() {
            return Ok(());
        }
        let text = format!("{}\n[interrupted]", text::elide(said.trim_end(), KEPT_CHARS));
        let (id, item) = self.record(Item::assistant(text))?;
        let _ = self.events.send(Event::Item { id, item });
        Ok(())
    }

    /// Writes what the model said or called, without secrets.
    fn record(&mut self, mut item: Item) -> Result<(ItemId, Arc<Item>), LogError> {
        self.redactor.redact_reply(&mut item);
        self.conversation.record(item)
    }
}

/// The items of a reply that are complete: of one that a filter ended no call is, and of one that was cut at the limit
/// the last call is not when its arguments had not begun.
fn complete_items(mut items: Vec<Item>, finish: &FinishReason) -> Vec<Item> {
    match finish {
        FinishReason::ContentFilter | FinishReason::Refused(_) => {
            items.retain(|item| !matches!(item, Item::ToolCall(_)))
        }
        FinishReason::Length | FinishReason::WindowFull => {
            items.pop_if(|item| match item {
                Item::ToolCall(call) => matches!(call.args.trim(), "" | "{}"),
                _ => false,
            });
        }
        _ => {}
    }
    items
}

/// Whether an item does or says something.
fn has_substance(item: &Item) -> bool {
    match item {
        Item::ToolCall(_) => true,
        Item::Assistant { text, .. } => !text.trim().is_empty(),
        _ => false,
    }
}
