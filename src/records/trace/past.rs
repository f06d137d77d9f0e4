//! What sessions of another agent did cost, by their own records of usage, and what they would have cost under our policies:
//! the same calls and answers, with our system prompt in front. By model, as each has its prices.

use std::collections::BTreeMap;

use serde::Serialize;

use super::metrics::measure::Meter;
use super::metrics::originals::Originals;
use super::policy::Policy;
use super::recording::events;
use super::simulate::{self, ReplayOptions};
use base::config::models::{self, ModelFacts};
use base::config::settings::{ContextSettings, Origin, Profile};
use base::model::usage::Usage;
use context::session::record::{Record, RequestRecord};

/// Tokens of our system prompt and tool schemas, rounded up.
pub const SYSTEM_TOKENS: u64 = 1_700;
/// What is compared with what was.
pub const POLICIES: [Policy; 4] =
    [Policy::Raw, Policy::Ours(Profile::Eco), Policy::Ours(Profile::Default), Policy::Ours(Profile::High)];

/// Input tokens of one policy, and what they cost with the output that there was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct PolicyCost {
    pub input: u64,
    pub cached: u64,
    /// In dollars; nothing without a price.
    pub cost_usd: f64,
    /// The same without a prompt cache.
    pub uncached_usd: f64,
}

/// The sessions of one model.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ModelCost {
    pub sessions: u64,
    pub requests: u64,
    /// Requests whose usage was recorded.
    pub recorded: u64,
    pub usage: Usage,
    pub priced: bool,
    pub did_usd: f64,
    pub did_uncached_usd: f64,
    /// In the order of [`POLICIES`].
    pub policies: [PolicyCost; 4],
}

/// By model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastCost {
    pub models: BTreeMap<String, ModelCost>,
}

impl PastCost {
    /// Adds a session, as the records of a replay.
    pub fn add(&mut self, records: &[Record]) {
        let requests: Vec<&RequestRecord> = records
            .iter()
            .filter_map(|record| match record {
                Record::Request(request) => Some(request),
                _ => None,
            })
            .collect();
        let mut seen: Vec<&str> = Vec::new();
        for request in &requests {
            let sum = self.models.entry(request.model.clone()).or_default();
            if !seen.contains(&request.model.as_str()) {
                seen.push(&request.model);
                sum.sessions += 1;
            }
            sum.did(request);
        }
        let Some(first) = requests.first() else { return };
        // Where the model was changed, the one that it began with sets the window and how long the cache lives.
        let facts = models::facts(&first.model);
        let mut settings = ContextSettings::for_window(
            facts.map_or(models::DEFAULT_WINDOW, ModelFacts::prompt_window),
            Origin::Default,
        );
        if let Some(facts) = facts {
            facts.inform(&mut settings);
        }
        let options = ReplayOptions { binding: settings.binding, system_tokens: SYSTEM_TOKENS };
        let events = events::of_session(records);
        let nothing = Originals::default();
        for (at, policy) in POLICIES.into_iter().enumerate() {
            let mut meter = Meter::new(&nothing, settings.window_tokens, options);
            simulate::play(&events, policy, &settings, options, |request| {
                meter.record(request);
                if let Some(record) = requests.get(request.n)
                    && let Some(sum) = self.models.get_mut(&record.model)
                {
                    let output = record.usage.map_or(0, |usage| usage.output);
                    sum.policies[at].add(&record.model, meter.last, output);
                }
            });
        }
    }

    /// Adds what others gathered.
    pub fn merge(&mut self, more: Self) {
        for (name, model) in more.models {
            let sum = self.models.entry(name).or_default();
            sum.sessions += model.sessions;
            sum.requests += model.requests;
            sum.recorded += model.recorded;
            sum.usage.add(&model.usage);
            sum.priced |= model.priced;
            sum.did_usd += model.did_usd;
            sum.did_uncached_usd += model.did_uncached_usd;
            for (mine, theirs) in sum.policies.iter_mut().zip(model.policies) {
                mine.input += theirs.input;
                mine.cached += theirs.cached;
                mine.cost_usd += theirs.cost_usd;
                mine.uncached_usd += theirs.uncached_usd;
            }
        }
    }
}

impl ModelCost {
    fn did(&mut self, request: &RequestRecord) {
        self.requests += 1;
        let facts = models::facts(&request.model);
        self.priced = facts.is_some_and(|facts| facts.price.is_some());
        let Some(usage) = request.usage else { return };
        self.recorded += 1;
        self.usage.add(&usage);
        let fresh = usage.input.saturating_sub(usage.cached).saturating_sub(usage.cache_write);
        let cost = |fresh, read, written| {
            facts.and_then(|facts| facts.cost(fresh, read, written, usage.output)).unwrap_or(0.0)
        };
        self.did_usd += cost(fresh, usage.cached, usage.cache_write);
        self.did_uncached_usd += cost(usage.input, 0, 0);
    }
}

impl PolicyCost {
    fn add(&mut self, model: &str, (input, cached): (u64, u64), output: u64) {
        let facts = models::facts(model);
        // Tokenizers that count finer than the estimate.
        let scaled = |tokens: u64| (tokens as f64 * facts.map_or(1.0, |facts| facts.tokens)) as u64;
        let (input, cached) = (scaled(input), scaled(cached));
        self.input += input;
        self.cached += cached;
        // What the cache does not serve is written into it, and billed as that where the vendor does so.
        let cost = |fresh, read, written| {
            facts.and_then(|facts| facts.cost(fresh, read, written, output)).unwrap_or(0.0)
        };
        self.cost_usd += cost(0, cached, input - cached);
        self.uncached_usd += cost(input, 0, 0);
    }
}
