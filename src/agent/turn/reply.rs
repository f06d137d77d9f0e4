//! Gets and records one reply of the model. Makes room and retries if the server says that it doesn't fit.

use std::sync::Arc;

use super::error::TurnError;
use super::text_calls;
use crate::control::TurnControl;
use crate::sampling::sampler::{Sampled, Sampler, Unfinished};
use crate::session::conversation::Conversation;
use crate::window::context_window::ContextWindow;
use crate::window::request::NextRequest;
use base::model::call::ToolCall;
use base::model::item::{Item, ItemId};
use base::model::provider::ProviderError;
use base::model::usage::FinishReason;
use base::protocol::event::{Event, FailureCause, Level};
use base::protocol::notice as texts;
use base::text;
use guard::redact::redactor::Redactor;

/// Retries of a request that didn't fit: first with the room that the server names, or half; then with a quarter.
const OVERFLOW_TRIES: u32 = 2;
const KEPT_CHARS: usize = 40_000;

pub struct ModelReply {
    pub calls: Vec<Arc<ToolCall>>,
    pub finish: FinishReason,
    pub said_something: bool,
    pub said: String,
}

impl ModelReply {
    pub fn was_cut(&self) -> bool {
        matches!(self.finish, FinishReason::Length | FinishReason::WindowFull)
    }

    /// The complete calls, and the last call if the reply ended in the middle of it.
    pub fn split_at_cut(&self) -> (&[Arc<ToolCall>], Option<&Arc<ToolCall>>) {
        match self.calls.split_last() {
            Some((last, whole)) if self.was_cut() && last.parsed_args().is_err() => (whole, Some(last)),
            _ => (&self.calls, None),
        }
    }
}

/// What was tried so far to make a request and its reply fit.
struct Fitting {
    configured: (u64, u64),
    refusals: u32,
    /// The last refused request: its size in tokens, and the server's message.
    refused: Option<(u64, String)>,
    stuck: u32,
    /// A reply has already filled the window.
    filled: bool,
}

pub struct ReplyRequest<'a> {
    pub conversation: &'a mut Conversation,
    pub window: &'a mut ContextWindow,
    pub sampler: &'a Sampler,
    pub redactor: &'a Redactor,
    pub control: &'a TurnControl,
}

impl ReplyRequest<'_> {
    pub async fn ask(mut self) -> Result<ModelReply, TurnError> {
        let configured = self.window.size();
        let mut fitting = Fitting { configured, refusals: 0, refused: None, stuck: 0, filled: false };
        loop {
            let next = self.fitted_request(&mut fitting).await?;
            let cold = self.window.is_cold(self.conversation);
            self.conversation.record_request(&next.parts, &next.built, cold)?;
            let may_fill = !fitting.filled && fitting.refusals < OVERFLOW_TRIES;
            match self.sample(&next, may_fill).await {
                Ok(Some(reply)) => return Ok(reply),
                Ok(None) => {
                    fitting.filled = true;
                    self.make_room_for_reply(configured).await?;
                }
                Err(TurnError::Provider { error: ProviderError::ReasoningRejected(_), .. })
                    if self.without_reasoning(&next)? => {}
                Err(TurnError::Provider { error: error @ ProviderError::ContextFull(_), .. })
                    if fitting.refusals < OVERFLOW_TRIES =>
                {
                    fitting.refusals += 1;
                    self.make_room(&error, &fitting);
                    let ProviderError::ContextFull(message) = error else { continue };
                    if fitting.refusals == 1 {
                        self.control.notice(Level::Warning, texts::context_limit(&message));
                    }
                    fitting.refused = Some((next.built.ledger.total(), message));
                }
                Err(error) => {
                    if matches!(error, TurnError::Provider { error: ProviderError::ContextFull(_), .. }) {
                        self.window.resize(configured);
                    }
                    return Err(error);
                }
            }
        }
    }

    /// The server rejects its own reasoning: drops it, and from now on treats it as bound. Returns whether there was any.
    fn without_reasoning(&mut self, refused: &NextRequest) -> Result<bool, TurnError> {
        let any = refused.drop_reasoning(self.conversation)?;
        if any {
            self.window.bind_reasoning();
            self.control.notice(Level::Info, texts::REASONING_REJECTED.to_owned());
        }
        Ok(any)
    }

    async fn next_request(&mut self) -> Result<NextRequest, TurnError> {
        Ok(self.window.next_request(self.conversation, self.sampler, self.control).await?)
    }

    /// The next request, smaller than a refused one if possible.
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
            // Nothing more can be dropped. Retry once anyway, because some servers' slots are full at times.
            fitting.stuck += 1;
            self.window.resize(fitting.configured);
            if fitting.stuck > 1 {
                return Err(TurnError::context_full(message));
            }
            // Rebuild it with the room for the reply from the configured window.
            next = self.window.build(self.conversation, &self.sampler.params);
        }
        Ok(next)
    }

    /// Makes more room for the reply in the same window.
    async fn make_room_for_reply(&mut self, configured: (u64, u64)) -> Result<(), TurnError> {
        let reason = texts::REPLY_FILLED_WINDOW.to_owned();
        let _ = self.control.events.send(Event::Retrying { attempt: 2, of: 2, wait_ms: 0, reason });
        let (window, reserve) = self.window.size();
        self.window.resize((window * 7 / 10, reserve));
        let made = self.next_request().await.map(drop);
        self.window.resize(configured);
        made
    }

    /// Uses the window that the server names; if that explains nothing or didn't help, makes the request much smaller.
    fn make_room(&mut self, error: &ProviderError, fitting: &Fitting) {
        let sizes = self.window.sizes(self.conversation);
        let (size, smallest) = (sizes.estimated(), sizes.smallest_window());
        let named =
            error.context_limit().filter(|named| fitting.refusals == 1 && *named < fitting.configured.0);
        let room = named.map_or(size >> fitting.refusals, |named| (named * 9 / 10).min(size * 9 / 10));
        let (window, reserve) = self.window.size();
        // A wrong number from the server must not leave out the task itself.
        let window = room.max(smallest).min(window * 9 / 10);
        self.window.resize((window, reserve.min(window / 8)));
    }

    /// `None` if the reply filled the window.
    async fn sample(&mut self, next: &NextRequest, may_fill: bool) -> Result<Option<ModelReply>, TurnError> {
        let window_tokens = self.window.settings().window_tokens;
        let request = &next.built.request;
        let sampled = match self.sampler.sample(request, window_tokens, self.control).await {
            Ok(sampled) => sampled,
            Err(Unfinished { said, error: None }) => {
                self.record_partial(&said)?;
                return Err(TurnError::Interrupted);
            }
            Err(Unfinished { error: Some((error @ ProviderError::CostLimit(_), _)), .. }) => {
                return Err(TurnError::Failed(
                    (error.to_string(), error.hint(true)),
                    FailureCause::CostLimit,
                ));
            }
            Err(Unfinished { said, error: Some((error, tries)) }) => {
                // The request will be sent again in another form, so drop the text of this attempt.
                let again =
                    matches!(error, ProviderError::ContextFull(_) | ProviderError::ReasoningRejected(_));
                if !again {
                    self.record_partial(&said)?;
                }
                return Err(TurnError::Provider { error, tries });
            }
        };
        let size = self.window.sizes(self.conversation).estimated();
        if sampled.finish == FinishReason::WindowFull && may_fill {
            // The window is smaller than assumed: handle it like a refused request.
            return Err(TurnError::context_full("the reply reached the end of the context window"));
        }
        // Compaction helps only if the past takes up most of the window.
        if sampled.finish == FinishReason::Length && size > window_tokens * 6 / 10 {
            if !sampled.items.iter().any(has_substance) {
                // Some servers silently stop at the window's end: handle it like a refused request.
                return Err(TurnError::context_full("the reply ended at once at the length limit"));
            }
            let reported = sampled.usage.map(|usage| usage.total());
            let taken = reported.unwrap_or(size + sampled.bytes / 4);
            if may_fill && taken >= window_tokens * 97 / 100 {
                return Ok(None);
            }
        }
        self.record_reply(sampled).map(Some)
    }

    fn record_reply(&mut self, sampled: Sampled) -> Result<ModelReply, TurnError> {
        let Sampled { items, finish, usage, .. } = sampled;
        let mut calls: Vec<Arc<ToolCall>> = Vec::new();
        let mut ids: Vec<Arc<str>> = Vec::new();
        let items = self.with_text_calls(complete_items(items, &finish), &finish);
        let items = text_calls::with_answer(items, &self.window.prompt.tool_names());
        let said_something = items.iter().any(has_substance);
        // Reasoning is bound to the text before it, so it is useless after redacted text.
        let mut unbound = false;
        let mut all_said = String::new();
        for mut item in items {
            if matches!(item, Item::Reasoning(_)) && (unbound || !self.redactor.redact_reasoning(&mut item)) {
                unbound = true;
                continue;
            }
            // Keep nothing of an empty reply: the retry must be identical, and servers refuse empty texts.
            let empty = matches!(item, Item::Assistant { .. }) && !has_substance(&item);
            if empty || !said_something {
                continue;
            }
            if let Item::ToolCall(call) = &mut item {
                call.id = self.conversation.unique_call_id(&call.id, &ids);
                ids.push(Arc::clone(&call.id));
                // Run the original call; only the stored one is redacted.
                calls.push(Arc::new(call.clone()));
            }
            let said = item.text().into_owned();
            if matches!(item, Item::Assistant { .. }) {
                all_said.push_str(&said);
            }
            let (id, item) = self.record(item)?;
            unbound |= item.text() != said;
            if !matches!(&*item, Item::ToolCall(_)) {
                let _ = self.control.events.send(Event::Item { id, item });
            }
        }
        let params = &self.sampler.params;
        let sizes = (self.window.last_size(), self.window.size().0);
        self.conversation.record_usage(&params.model, sizes, usage)?;
        self.window.mind_truncation(self.conversation, &self.control.events);
        let _ = self.control.events.send(Event::Window(self.window.state(self.conversation)));
        Ok(ModelReply { calls, finish, said_something, said: all_said })
    }

    fn with_text_calls(&self, mut items: Vec<Item>, finish: &FinishReason) -> Vec<Item> {
        let is_whole = matches!(finish, FinishReason::Stop | FinishReason::ToolCalls);
        if !is_whole || items.iter().any(|item| matches!(item, Item::ToolCall(_))) {
            return items;
        }
        let names = self.window.prompt.tool_names();
        // Small models forget to end their thinking: where nothing else was said, the call at its end is meant.
        let speaks = items.iter().any(has_substance);
        let last = items.iter().rposition(|item| match item {
            Item::Assistant { .. } => speaks,
            Item::Reasoning(_) => !speaks,
            _ => false,
        });
        let read = last.and_then(|at| Some((at, text_calls::read(&items[at].text(), &names)?)));
        let Some((at, (said, calls))) = read else { return items };
        match said.is_empty() {
            _ if !speaks => {}
            true => drop(items.remove(at)),
            false => items[at] = Item::assistant(said),
        }
        items.extend(calls.into_iter().map(|call| {
            Item::ToolCall(ToolCall { id: "".into(), name: call.tool.into(), args: call.args.into() })
        }));
        items
    }

    /// Keeps the text before an interrupt or an error, without unfinished calls and thinking.
    fn record_partial(&mut self, said: &str) -> Result<(), TurnError> {
        if said.trim().is_empty() {
            return Ok(());
        }
        let text = format!("{}\n[interrupted]", text::elide(said.trim_end(), KEPT_CHARS));
        let (id, item) = self.record(Item::assistant(text))?;
        let _ = self.control.events.send(Event::Item { id, item });
        Ok(())
    }

    fn record(&mut self, mut item: Item) -> Result<(ItemId, Arc<Item>), TurnError> {
        self.redactor.redact_reply(&mut item);
        Ok(self.conversation.record(item)?)
    }
}

/// Drops incomplete items: all calls of a filtered reply, and a last call without arguments.
fn complete_items(mut items: Vec<Item>, finish: &FinishReason) -> Vec<Item> {
    match finish {
        // Kept, it would be refused again with each later message (platform.claude.com handle-streaming-refusals, November 2026).
        FinishReason::Refused(_) => items.clear(),
        FinishReason::ContentFilter => items.retain(|item| !matches!(item, Item::ToolCall(_))),
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

/// A reply of only these characters is empty.
const FILLING: &str = ".…·-—_*#`\u{200b}\u{200c}\u{200d}\u{feff}";

fn has_substance(item: &Item) -> bool {
    match item {
        Item::ToolCall(_) => true,
        Item::Assistant { text, .. } => text.chars().any(|c| !c.is_whitespace() && !FILLING.contains(c)),
        _ => false,
    }
}
