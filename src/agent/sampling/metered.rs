//! The cost limit of a run. Every request passes through here (from the agent, sub-agents, summaries, a build's
//! roles), so that nothing escapes the limit.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream;
use parking_lot::Mutex;

use base::clock;
use base::config::provider::models::{self, ModelFacts};
use base::model::provider::{Provider, ProviderError, ReplyStream};
use base::model::request::Request;
use base::model::stream::StreamEvent;
use base::model::usage::Usage;
use context::tokens::request_size::Countable as _;

/// A reply limit below this, in tokens, is pointless.
const LEAST_REPLY: u32 = 256;
const LONG_REPLY: u32 = 32_000;

struct Metered {
    inner: Arc<dyn Provider>,
    most_usd: f64,
    spent_usd: Arc<Mutex<f64>>,
}

/// Makes `provider` refuse requests once `most_usd` are spent.
pub fn limited(provider: Arc<dyn Provider>, most_usd: Option<f64>) -> Arc<dyn Provider> {
    match most_usd {
        Some(most_usd) => Arc::new(Metered { inner: provider, most_usd, spent_usd: Arc::default() }),
        None => provider,
    }
}

struct Bill {
    facts: &'static ModelFacts,
    /// Charged as uncached input if the server reports no usage or the reply breaks off.
    estimated_tokens: u64,
    spent_usd: Arc<Mutex<f64>>,
}

impl Bill {
    fn pay(&mut self, usage: Option<&Usage>) {
        let estimated = Usage { input: std::mem::take(&mut self.estimated_tokens), ..Usage::default() };
        let usage = usage.unwrap_or(&estimated);
        let cost = self.facts.cost_at(usage, clock::now_ms()).unwrap_or(0.0);
        *self.spent_usd.lock() += cost;
    }
}

impl Drop for Bill {
    fn drop(&mut self) {
        if self.estimated_tokens > 0 {
            self.pay(None);
        }
    }
}

impl Metered {
    /// The estimated cost, and the token limit that the budget can pay for. Fails at the limit or without a price.
    fn bill(&self, request: &Request) -> Result<(Bill, u32), ProviderError> {
        let model = &*request.params.model;
        let Some(facts) = models::facts(model).filter(|_| is_priced(model)) else {
            return Err(ProviderError::CostLimit(unknown_price(model)));
        };
        let spent = *self.spent_usd.lock();
        if spent >= self.most_usd {
            let most = self.most_usd;
            let message = format!("stopped: this run has cost ${spent:.4}, and --max-cost is ${most}");
            return Err(ProviderError::CostLimit(message));
        }
        let system = request.system.iter().map(|block| block.text.estimated());
        let messages = request.messages.iter().map(|message| message.estimated());
        let tokens = system.chain([request.tools.estimated()]).chain(messages).map(u64::from).sum();
        let million = Usage { output: 1_000_000, ..Usage::default() };
        let price = facts.cost_at(&million, clock::now_ms()).unwrap_or(0.0);
        let affordable = ((self.most_usd - spent) / price * 1e6) as u32;
        let bill = Bill { facts, estimated_tokens: tokens, spent_usd: Arc::clone(&self.spent_usd) };
        Ok((bill, affordable.max(LEAST_REPLY)))
    }
}

pub fn is_priced(model: &str) -> bool {
    models::facts(model).is_some_and(|facts| facts.cost(1, 0, 0, 0).is_some())
}

pub fn unknown_price(model: &str) -> String {
    format!("can't enforce --max-cost: no price known for {model}")
}

impl Provider for Metered {
    fn stream(&self, request: &Request) -> ReplyStream {
        let (mut bill, affordable) = match self.bill(request) {
            Ok(bill) => bill,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let mut answered = false;
        let most = request.params.max_output_tokens.or(bill.facts.output).unwrap_or(LONG_REPLY);
        let started = if affordable < most {
            let mut limited = request.clone();
            limited.params.max_output_tokens = Some(affordable);
            self.inner.stream(&limited)
        } else {
            self.inner.stream(request)
        };
        let reply = started.map(move |event| {
            match &event {
                Ok(StreamEvent::Done { usage, .. }) => bill.pay(usage.as_ref()),
                // A reply that broke off costs money too; a refused request doesn't.
                Ok(StreamEvent::Restarted { .. }) if answered => {
                    let again = bill.estimated_tokens;
                    bill.pay(None);
                    bill.estimated_tokens = again;
                    answered = false;
                }
                Ok(StreamEvent::Restarted { .. }) => {}
                _ => answered = true,
            }
            event
        });
        reply.boxed()
    }

    fn name(&self) -> &'static str {
        self.inner.name()
    }
}
