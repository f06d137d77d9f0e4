//! The figures of one session, or the sum of several.

use std::collections::BTreeMap;

use serde::Serialize;

use base::clock;
use base::config::provider::models;
use base::model::usage::{PriceUsed, Usage};

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    pub turns: u64,
    pub steps: u64,
    pub active_ms: u64,
    pub tools: BTreeMap<String, ToolFigures>,
    pub failed_commands: u64,
    pub notes: u64,
    pub files: BTreeMap<String, LineCounts>,
    /// As reported by the servers, including sub-agents and summaries.
    pub tokens: Usage,
    /// Estimated tokens by the layer through which they entered the window.
    pub layers: BTreeMap<&'static str, u64>,
    pub epochs: BTreeMap<&'static str, EpochFigures>,
    pub compactions: u64,
    pub models: BTreeMap<String, ModelFigures>,
    pub failures: BTreeMap<&'static str, u64>,
    /// Reminders sent to the model on the program's own initiative, by topic.
    pub nudges: BTreeMap<&'static str, NudgeFigures>,
    /// By local date, such as `2026-11-22`.
    pub days: BTreeMap<String, DayFigures>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolFigures {
    pub calls: u64,
    pub errors: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NudgeFigures {
    pub told: u64,
    /// How often the next reply made a call.
    pub followed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    pub added: u64,
    pub removed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EpochFigures {
    pub count: u64,
    pub tokens_lost: u64,
    /// Tokens by which each later request was smaller.
    pub tokens_saved: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ModelFigures {
    pub requests: u64,
    pub tokens: Usage,
    pub cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<PriceUsed>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DayFigures {
    pub turns: u64,
    pub steps: u64,
    pub tokens: u64,
    pub cost_usd: f64,
}

impl Figures {
    /// `step` is `false` for requests outside the turn.
    pub fn add_request(&mut self, model: &str, usage: Option<&Usage>, ms: u64, step: bool) {
        let row = self.models.entry(model.to_owned()).or_default();
        let today = self.days.entry(clock::local_day(ms)).or_default();
        row.requests += 1;
        self.steps += u64::from(step);
        today.steps += u64::from(step);
        let Some(usage) = usage else { return };
        self.tokens.add(usage);
        row.tokens.add(usage);
        today.tokens = today.tokens.saturating_add(usage.total());
        if let Some(cost) = models::cost(model, usage, ms) {
            row.cost_usd = Some(row.cost_usd.unwrap_or(0.0) + cost);
            let used = models::price_used(model, ms);
            row.price = Some(row.price.map_or(used, |before| before.with(used)));
            today.cost_usd += cost;
        }
    }

    pub fn add(&mut self, other: &Self) {
        for (sum, more) in [
            (&mut self.turns, other.turns),
            (&mut self.steps, other.steps),
            (&mut self.active_ms, other.active_ms),
            (&mut self.failed_commands, other.failed_commands),
            (&mut self.notes, other.notes),
            (&mut self.compactions, other.compactions),
        ] {
            *sum += more;
        }
        self.tokens.add(&other.tokens);
        merge(&mut self.tools, &other.tools, |sum, more| {
            sum.calls += more.calls;
            sum.errors += more.errors;
        });
        merge(&mut self.files, &other.files, |sum, more| {
            sum.added += more.added;
            sum.removed += more.removed;
        });
        merge(&mut self.epochs, &other.epochs, |sum, more| {
            sum.count += more.count;
            sum.tokens_lost += more.tokens_lost;
            sum.tokens_saved += more.tokens_saved;
        });
        merge(&mut self.models, &other.models, |sum, more| {
            sum.requests += more.requests;
            sum.tokens.add(&more.tokens);
            sum.cost_usd = match (sum.cost_usd, more.cost_usd) {
                (Some(a), Some(b)) => Some(a + b),
                (a, b) => a.or(b),
            };
            sum.price = match (sum.price, more.price) {
                (Some(a), Some(b)) => Some(a.with(b)),
                (a, b) => a.or(b),
            };
        });
        merge(&mut self.days, &other.days, |sum, more| {
            sum.turns += more.turns;
            sum.steps += more.steps;
            sum.tokens += more.tokens;
            sum.cost_usd += more.cost_usd;
        });
        merge(&mut self.layers, &other.layers, |sum, more| *sum += more);
        merge(&mut self.failures, &other.failures, |sum, more| *sum += more);
        merge(&mut self.nudges, &other.nudges, |sum, more| {
            sum.told += more.told;
            sum.followed += more.followed;
        });
    }

    pub fn commands(&self) -> u64 {
        self.tools.get("Bash").map_or(0, |tool| tool.calls)
    }

    pub fn lines(&self) -> LineCounts {
        self.files.values().fold(LineCounts::default(), |sum, file| LineCounts {
            added: sum.added + file.added,
            removed: sum.removed + file.removed,
        })
    }

    pub fn cached_percent(&self) -> f64 {
        self.tokens.cached as f64 * 100.0 / self.tokens.input.max(1) as f64
    }

    pub fn cost_usd(&self) -> Option<f64> {
        self.models.values().filter_map(|model| model.cost_usd).reduce(|sum, cost| sum + cost)
    }
}

fn merge<K: Ord + Clone, V: Default>(
    sums: &mut BTreeMap<K, V>,
    more: &BTreeMap<K, V>,
    add: impl Fn(&mut V, &V),
) {
    for (key, value) in more {
        add(sums.entry(key.clone()).or_default(), value);
    }
}
