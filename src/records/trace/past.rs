//! What another agent's sessions cost by their recorded usage, and what they would have cost under our
//! policies (same calls and answers, our system prompt). By model, because prices differ.

use std::collections::BTreeMap;

use super::metrics::measure::Meter;
use super::metrics::originals::SourceTexts;
use super::policy::ALL;
use super::recording::events;
use super::simulate::{self, ReplayOptions};
use base::clock;
use base::config::provider::models::{self, ModelFacts};
use base::config::settings::{ContextSettings, Origin};
use base::model::usage::Usage;
use base::path::on_one_line;
use base::text::{dollars, human_tokens, plural};
use context::session::record::{Record, RequestRecord};

/// Tokens of our system prompt and tool schemas, rounded up.
pub const SYSTEM_TOKENS: u64 = 1_700;

/// Input tokens under one policy, and their cost together with the recorded output.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PolicyCost {
    pub input: u64,
    pub cached: u64,
    /// In dollars; zero without a price.
    pub cost_usd: f64,
    pub uncached_usd: f64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelCost {
    pub sessions: u64,
    pub requests: u64,
    pub recorded: u64,
    pub usage: Usage,
    pub priced: bool,
    pub did_usd: f64,
    pub did_uncached_usd: f64,
    /// In the order of [`ALL`].
    pub policies: [PolicyCost; 4],
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct PastCost {
    pub models: BTreeMap<String, ModelCost>,
}

impl PastCost {
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
        // If the model changed, the first one determines the window and the cache lifetime.
        let facts = models::facts(&first.model);
        let mut settings = ContextSettings::for_window(
            facts.map_or(models::DEFAULT_WINDOW, ModelFacts::prompt_window),
            Origin::Default,
        );
        if let Some(facts) = facts {
            facts.inform(&mut settings);
        }
        let options =
            ReplayOptions { binding: settings.binding, system_tokens: SYSTEM_TOKENS, set: Vec::new() };
        let events = events::of_session(records);
        let nothing = SourceTexts::default();
        for (at, policy) in ALL.into_iter().enumerate() {
            let mut meter = Meter::new(&nothing, settings.window_tokens, &options);
            simulate::play(&events, policy, &settings, &options, |request| {
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
        let cost = |usage| facts.and_then(|facts| facts.cost_at(&usage, clock::now_ms())).unwrap_or(0.0);
        self.did_usd += cost(usage);
        self.did_uncached_usd += cost(Usage { cached: 0, cache_write: 0, ..usage });
    }
}

impl PolicyCost {
    fn add(&mut self, model: &str, (input, cached): (u64, u64), output: u64) {
        let facts = models::facts(model);
        // Some tokenizers count more tokens than the estimate.
        let scaled = |tokens: u64| (tokens as f64 * facts.map_or(1.0, |facts| facts.tokens)) as u64;
        let (input, cached) = (scaled(input), scaled(cached));
        self.input += input;
        self.cached += cached;
        // Uncached input is written to the cache, and billed as a write by some vendors.
        let cost = |fresh, read, written| {
            facts.and_then(|facts| facts.cost(fresh, read, written, output)).unwrap_or(0.0)
        };
        self.cost_usd += cost(0, cached, input - cached);
        self.uncached_usd += cost(input, 0, 0);
    }
}

const BAR: usize = 40;

pub fn render(past: &PastCost, agent: &str) -> String {
    let mut out = String::new();
    for (name, model) in &past.models {
        out.push_str(&table(name, model, agent));
        out.push('\n');
    }
    let priced: Vec<&ModelCost> =
        past.models.values().filter(|model| model.priced && model.recorded > 0).collect();
    if !priced.is_empty() {
        out.push_str(&chart(&priced, agent));
        out.push('\n');
    }
    out.push_str(&assumptions());
    out
}

fn table(name: &str, model: &ModelCost, agent: &str) -> String {
    let count = |count: u64, noun| plural(usize::try_from(count).unwrap_or(usize::MAX), noun);
    let name = if name.is_empty() { "model not named".to_owned() } else { on_one_line(name) };
    let mut out =
        format!("{name}: {}, {}", count(model.sessions, "session"), count(model.requests, "request"));
    if !model.priced {
        out.push_str("; the model table has no price for it");
    }
    if model.recorded < model.requests {
        let without = count(model.requests - model.recorded, "request");
        out.push_str(&format!("; {without} without recorded usage"));
    }
    out.push_str(&format!(
        "\n{:<22} {:>8} {:>8} {:>8} {:>10} {:>10}\n",
        "", "input", "cached", "output", "cost", "no cache"
    ));
    let row = |label: &str, input: u64, cached: u64, cost: f64, uncached: f64| {
        let dollars = |cost: f64| if model.priced { dollars(cost) } else { "?".to_owned() };
        format!(
            "{label:<22} {:>8} {:>8} {:>8} {:>10} {:>10}\n",
            human_tokens(input),
            human_tokens(cached),
            human_tokens(model.usage.output),
            dollars(cost),
            dollars(uncached)
        )
    };
    if model.recorded > 0 {
        let (usage, did) = (model.usage, model.did_usd);
        out.push_str(&row(&format!("in {agent}"), usage.input, usage.cached, did, model.did_uncached_usd));
    }
    for (policy, cost) in ALL.iter().zip(&model.policies) {
        let label = format!("mycode, {}", policy.name());
        out.push_str(&row(&label, cost.input, cost.cached, cost.cost_usd, cost.uncached_usd));
    }
    if model.usage.cache_write > 0 {
        out.push_str(&format!(
            "(of the input in {agent}, {} were written into the cache)\n",
            human_tokens(model.usage.cache_write)
        ));
    }
    out
}

fn chart(models: &[&ModelCost], agent: &str) -> String {
    let sum = |of: &dyn Fn(&ModelCost) -> f64| models.iter().map(|model| of(model)).sum::<f64>();
    let mut rows = vec![(format!("in {agent}"), sum(&|model| model.did_usd))];
    for (at, policy) in ALL.iter().enumerate() {
        rows.push((format!("mycode, {}", policy.name()), sum(&|model| model.policies[at].cost_usd)));
    }
    let did = rows[0].1;
    let most = rows.iter().map(|(_, cost)| *cost).fold(0.0, f64::max);
    let mut out = "Together:\n".to_owned();
    for (label, cost) in rows {
        let length = if most > 0.0 { (cost / most * BAR as f64).round() as usize } else { 0 };
        let share = if did > 0.0 { format!("  {:>4.0}%", cost / did * 100.0) } else { String::new() };
        out.push_str(&format!("{label:<22} {:<BAR$} {:>10}{share}\n", "#".repeat(length), dollars(cost)));
    }
    out
}

fn assumptions() -> String {
    format!(
        "Assumes that the model makes the same calls and writes the same answers; only what is sent differs.\n\
         Ours counts {SYSTEM_TOKENS} tokens of system prompt and tools and what the files hold, by estimate; theirs is what their server reported, \
         with their own prompt. `raw` sends everything unchanged, even what fits no window.\n\
         Cached prefixes last as long as the model table says; prices are that table's, as of today, without discounts.\n"
    )
}
