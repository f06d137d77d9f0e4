//! Counts what a stream of requests costs (CONTEXT.md): input tokens, the part a prompt cache would have served,
//! peak and overflows. Works on messages in Chat Completions form, because "the first changed message" is one of
//! those.

use serde_json::Value;

use super::verbatim::{Need, View};
use crate::context::tokens::estimate;
use crate::model::request::{Message, Request};
use crate::provider::chat::body::{self, Flavor};

/// A prompt cache counts in steps of this many tokens, and serves nothing under [`MIN_TOKENS`].
const STEP_TOKENS: u64 = 128;
const MIN_TOKENS: u64 = 1_024;
/// Seconds without a request after which a prompt cache is cold.
const COLD_AFTER_S: f64 = 300.0;

/// One message as sent, and its size.
pub struct Sent {
    pub value: Value,
    pub tokens: u64,
}

/// Sums over requests.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    pub requests: u64,
    pub input_tokens: u64,
    pub cached_tokens: u64,
    pub overflows: u64,
    /// The largest request of each session, in tokens.
    pub peaks: Vec<u64>,
    /// How many names, file names and edit lines were used, and how many of them were in view.
    pub by_kind: [(u64, u64); 3],
}

impl Sums {
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.input_tokens += other.input_tokens;
        self.cached_tokens += other.cached_tokens;
        self.overflows += other.overflows;
        self.peaks.extend(&other.peaks);
        for (mine, theirs) in self.by_kind.iter_mut().zip(other.by_kind) {
            mine.0 += theirs.0;
            mine.1 += theirs.1;
        }
    }

    pub fn uncached(&self) -> u64 {
        self.input_tokens - self.cached_tokens
    }

    /// Cost in uncached input tokens, a cached one counting `cached_price`.
    pub fn cost(&self, cached_price: f64) -> f64 {
        self.uncached() as f64 + cached_price * self.cached_tokens as f64
    }

    /// Share of input served from the cache, 0–1.
    pub fn hit(&self) -> f64 {
        self.cached_tokens as f64 / self.input_tokens.max(1) as f64
    }

    /// Share of used words that were still in view, 0–1; 1 when none was used.
    pub fn verbatim(&self) -> f64 {
        let sum = |part: fn(&(u64, u64)) -> u64| self.by_kind.iter().map(part).sum::<u64>() as f64;
        let used = sum(|kind| kind.0);
        if used == 0.0 { 1.0 } else { sum(|kind| kind.1) / used }
    }

    /// The session peak that 95 % of the sessions stay at or under, in tokens.
    pub fn peak_p95(&self) -> u64 {
        let mut peaks = self.peaks.clone();
        peaks.sort_unstable();
        let at = (peaks.len() * 95).div_ceil(100).saturating_sub(1);
        peaks.get(at).copied().unwrap_or(0)
    }
}

/// Follows the requests of one session.
pub struct Meter<'a> {
    needs: &'a [Vec<Need>],
    window: u64,
    sums: Sums,
    sent: Vec<Sent>,
    previous: Vec<Message>,
    view: View,
    last_ts: Option<f64>,
    peak: u64,
}

impl<'a> Meter<'a> {
    /// `needs` holds, for each request, what its answer's calls used.
    pub fn new(needs: &'a [Vec<Need>], window: u64) -> Self {
        Self {
            needs,
            window,
            sums: Sums::default(),
            sent: Vec::new(),
            previous: Vec::new(),
            view: View::default(),
            last_ts: None,
            peak: 0,
        }
    }

    /// Measures a request; gives its messages as sent.
    pub fn record(&mut self, n: usize, ts: Option<f64>, messages: &[Message]) -> &[Sent] {
        let same = self.previous.iter().zip(messages).take_while(|(a, b)| a == b).count();
        // Neighbors of an assistant share one wire message: go back to where the first changed one begins.
        let begins = |at: usize| at == 0 || !is_assistant(&messages[at]) || !is_assistant(&messages[at - 1]);
        let mut from = same.min(messages.len().saturating_sub(1));
        while from > 0 && !begins(from) {
            from -= 1;
        }
        let kept_wire = wire(&messages[..from]).len();
        let fresh: Vec<Sent> = wire(&messages[from..]).into_iter().map(sent).collect();
        let mut prefix = kept_wire;
        while prefix < self.sent.len()
            && fresh.get(prefix - kept_wire).is_some_and(|next| next.value == self.sent[prefix].value)
        {
            prefix += 1;
        }
        let cold = self.last_ts.zip(ts).is_some_and(|(last, now)| now - last > COLD_AFTER_S);
        let shared: u64 = self.sent[..prefix].iter().map(|sent| sent.tokens).sum();
        for gone in self.sent.drain(kept_wire..) {
            self.view.remove(&gone.value);
        }
        for new in &fresh {
            self.view.add(&new.value);
        }
        self.sent.extend(fresh);
        self.previous = messages.to_vec();
        self.last_ts = ts.or(self.last_ts);
        let total: u64 = self.sent.iter().map(|sent| sent.tokens).sum();
        let cached = shared / STEP_TOKENS * STEP_TOKENS;
        self.sums.requests += 1;
        self.sums.input_tokens += total;
        self.sums.cached_tokens += if cold || cached < MIN_TOKENS { 0 } else { cached };
        self.sums.overflows += u64::from(total > self.window);
        self.peak = self.peak.max(total);
        for need in self.needs.get(n).into_iter().flatten() {
            let of_kind = &mut self.sums.by_kind[need.kind()];
            of_kind.0 += 1;
            of_kind.1 += u64::from(self.view.holds(need));
        }
        &self.sent
    }

    /// The sums of the session.
    pub fn finish(mut self) -> Sums {
        self.sums.peaks.push(self.peak);
        self.sums
    }
}

fn is_assistant(message: &Message) -> bool {
    matches!(message, Message::Assistant(_) | Message::Reasoning(_) | Message::Call(_))
}

fn wire(messages: &[Message]) -> Vec<Value> {
    let request = Request { messages: messages.to_vec(), ..Request::default() };
    body::messages(&request, Flavor { strict: false })
}

fn sent(value: Value) -> Sent {
    Sent { tokens: message_tokens(&value), value }
}

/// Estimated tokens of a message in Chat Completions form.
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
