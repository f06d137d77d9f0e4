//! Measures a stream of requests: input tokens, the part a prompt cache would serve (everything before the
//! first changed message in Chat Completions form), peak, overflows, and what stays in view.

use serde_json::Value;

use super::edits::{EditView, REREAD_TOKENS};
use super::epochs::{EpochMeter, EpochSums};
use super::originals::{ANYWHERE, GENUINE, NeedView, OBSERVED, SourceTexts};
use crate::trace::simulate::{ReplayOptions, ReplayedRequest};
use base::config::settings::Binding;
use base::model::request::{Message, Request};
use context::tokens::estimate;
use provider::chat::body;

/// Prompt cache granularity; nothing below [`MIN_TOKENS`] is cached.
const STEP_TOKENS: u64 = 128;
const MIN_TOKENS: u64 = 1_024;

pub struct SentRequest {
    pub value: Value,
    pub tokens: u64,
}

/// Relative to the list price.
#[derive(Clone, Copy, Debug)]
pub struct InputPrices {
    pub cached: f64,
    /// Above 1 if a vendor bills cache writes.
    pub uncached: f64,
}

#[derive(Clone, Debug, Default)]
pub struct Sums {
    pub requests: u64,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub overflows: u64,
    /// The largest request of each session, in tokens.
    pub peaks: Vec<u64>,
    /// By strictness (`originals`); for the strictest, only those that an observation had shown.
    pub used: [u64; 3],
    pub held: [u64; 3],
    /// Texts that edits quoted and that had been in one piece before, and how many still were.
    pub quoted: u64,
    pub quoted_held: u64,
    pub epochs: EpochSums,
}

impl Sums {
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.overflows += other.overflows;
        self.peaks.extend(&other.peaks);
        let mine = self.used.iter_mut().chain(&mut self.held);
        for (mine, theirs) in mine.zip(other.used.iter().chain(&other.held)) {
            *mine += theirs;
        }
        self.quoted += other.quoted;
        self.quoted_held += other.quoted_held;
        self.epochs.add(&other.epochs);
    }

    pub fn uncached(&self) -> u64 {
        self.input_tokens - self.cached_tokens
    }

    pub fn cost(&self, prices: InputPrices) -> f64 {
        prices.uncached * self.uncached() as f64 + prices.cached * self.cached_tokens as f64
    }

    /// Includes the cost of reading again.
    pub fn cost_with_rereads(&self, prices: InputPrices) -> f64 {
        self.cost(prices) + self.rereads() as f64 * REREAD_TOKENS
    }

    pub fn rereads(&self) -> u64 {
        self.quoted - self.quoted_held
    }

    /// Share of edits that find their text in one piece, 0–1; 1 if there were none.
    pub fn whole(&self) -> f64 {
        if self.quoted == 0 { 1.0 } else { self.quoted_held as f64 / self.quoted as f64 }
    }

    pub fn hit(&self) -> f64 {
        self.cached_tokens as f64 / self.input_tokens.max(1) as f64
    }

    /// Share of used things still in view at this strictness, 0–1; 1 if nothing was used.
    pub fn held(&self, strictness: usize) -> f64 {
        let used = self.used[strictness];
        if used == 0 { 1.0 } else { self.held[strictness] as f64 / used as f64 }
    }

    pub fn peak_p95(&self) -> u64 {
        let mut peaks = self.peaks.clone();
        peaks.sort_unstable();
        let at = (peaks.len() * 95).div_ceil(100).saturating_sub(1);
        peaks.get(at).copied().unwrap_or(0)
    }
}

pub struct Meter<'a> {
    originals: &'a SourceTexts,
    window: u64,
    system_tokens: u64,
    sums: Sums,
    sent: Vec<SentRequest>,
    previous: Vec<Message>,
    view: NeedView<'a>,
    edits: EditView<'a>,
    epochs: EpochMeter<'a>,
    peak: u64,
    /// Input tokens of the last request, and how many were cached.
    pub last: (u64, u64),
}

impl<'a> Meter<'a> {
    pub fn new(originals: &'a SourceTexts, window: u64, options: &ReplayOptions) -> Self {
        Self {
            originals,
            window,
            system_tokens: options.system_tokens,
            sums: Sums::default(),
            sent: Vec::new(),
            previous: Vec::new(),
            view: NeedView::new(originals),
            edits: EditView::new(&originals.edits),
            epochs: EpochMeter::new(&originals.replies, options.binding != Binding::None),
            peak: 0,
            last: (0, 0),
        }
    }

    /// Measures a request; returns its messages as sent.
    pub fn record(&mut self, request: &ReplayedRequest<'_>) -> &[SentRequest] {
        let &ReplayedRequest { n, messages, .. } = request;
        let same = self.previous.iter().zip(messages).take_while(|(a, b)| a == b).count();
        self.view.update(n, messages, same);
        let (quoted, held) = self.edits.record(n, messages, same);
        self.sums.quoted += quoted;
        self.sums.quoted_held += held;
        self.epochs.record(request, same, self.previous.len());
        let prefix = self.send(messages, same);
        self.previous = messages.to_vec();
        let tokens =
            |sent: &[SentRequest]| sent.iter().map(|sent| sent.tokens).sum::<u64>() + self.system_tokens;
        let total = tokens(&self.sent);
        let cached = tokens(&self.sent[..prefix]) / STEP_TOKENS * STEP_TOKENS;
        let cold = request.cold || self.sums.requests == 0;
        self.sums.requests += 1;
        self.sums.input_tokens += total;
        self.last = (total, if cold || cached < MIN_TOKENS { 0 } else { cached });
        self.sums.cached_tokens += self.last.1;
        self.sums.overflows += u64::from(total > self.window);
        self.peak = self.peak.max(total);
        for need in self.originals.needs.used.get(n).into_iter().flatten() {
            for strictness in [ANYWHERE, GENUINE, OBSERVED] {
                if strictness < OBSERVED || self.originals.observed_since[*need] <= n {
                    self.sums.used[strictness] += 1;
                    self.sums.held[strictness] += u64::from(self.view.holds(*need, strictness));
                }
            }
        }
        &self.sent
    }

    /// Updates `sent` to the wire form; returns how many of its messages were already sent.
    fn send(&mut self, messages: &[Message], same: usize) -> usize {
        // Adjacent assistant messages share one wire message, so go back to the start of the first changed one.
        let begins = |at: usize| at == 0 || !is_assistant(&messages[at]) || !is_assistant(&messages[at - 1]);
        let mut from = same.min(messages.len().saturating_sub(1));
        while from > 0 && !begins(from) {
            from -= 1;
        }
        let kept_wire = wire(&messages[..from]).len();
        let fresh: Vec<SentRequest> = wire(&messages[from..]).into_iter().map(sent).collect();
        let known = self.sent[kept_wire..].iter().zip(&fresh);
        let prefix = kept_wire + known.take_while(|(known, next)| known.value == next.value).count();
        self.sent.truncate(kept_wire);
        self.sent.extend(fresh);
        prefix
    }

    pub fn finish(mut self) -> Sums {
        self.sums.peaks.push(self.peak);
        self.sums.epochs = self.epochs.sums;
        self.sums
    }
}

fn is_assistant(message: &Message) -> bool {
    matches!(message, Message::Assistant(_) | Message::Reasoning(_) | Message::Call(_))
}

fn wire(messages: &[Message]) -> Vec<Value> {
    let request = Request { messages: messages.to_vec(), ..Request::default() };
    body::messages(&request)
}

fn sent(value: Value) -> SentRequest {
    SentRequest { tokens: message_tokens(&value), value }
}

pub fn message_tokens(message: &Value) -> u64 {
    let text = |value: &Value| u64::from(estimate::estimate(value.as_str().unwrap_or_default()));
    let calls = message["tool_calls"].as_array().map_or(0, |calls| {
        calls
            .iter()
            .map(|call| text(&call["function"]["name"]) + text(&call["function"]["arguments"]) + 8)
            .sum()
    });
    text(&message["content"]) + calls + u64::from(estimate::MESSAGE_OVERHEAD)
}
