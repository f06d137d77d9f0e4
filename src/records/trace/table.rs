//! The comparison as a table and as JSON.

use serde_json::{Map, Value, json};

use super::compare::{Comparison, PolicySums};
use super::metrics::measure::{InputPrices, Sums};
use super::metrics::originals::{ANYWHERE, GENUINE, OBSERVED};
use base::text;

#[derive(Clone, Copy)]
enum Unit {
    Count,
    Tokens,
    Ratio,
    Percent,
    Rate,
}

/// JSON key, heading, unit, and formula from the policy's sums and those of `raw`.
struct Figure(&'static str, &'static str, Unit, fn(&Sums, &Sums, InputPrices) -> f64);

const COSTS: &[Figure] = &[
    Figure("requests", "requests", Unit::Count, |sums, _, _| sums.requests as f64),
    Figure("input_tokens", "input", Unit::Tokens, |sums, _, _| sums.input_tokens as f64),
    Figure("uncached_tokens", "uncached", Unit::Tokens, |sums, _, _| sums.uncached() as f64),
    Figure("hit", "hit %", Unit::Percent, |sums, _, _| sums.hit()),
    Figure("cost", "cost", Unit::Ratio, |sums, raw, prices| sums.cost(prices) / raw.cost(prices).max(1.0)),
    Figure("cost_with_rereads", "+ re-reads", Unit::Ratio, |sums, raw, prices| {
        sums.cost_with_rereads(prices) / raw.cost(prices).max(1.0)
    }),
    Figure("peak_p95_tokens", "peak p95", Unit::Tokens, |sums, _, _| sums.peak_p95() as f64),
    Figure("peak_max_tokens", "peak max", Unit::Tokens, |sums, _, _| {
        sums.peaks.iter().max().copied().unwrap_or(0) as f64
    }),
    Figure("overflows", "overflows", Unit::Count, |sums, _, _| sums.overflows as f64),
];

const KEPT: &[Figure] = &[
    Figure("verbatim", "verbatim %", Unit::Percent, |sums, _, _| sums.held(ANYWHERE)),
    Figure("s1", "S1 %", Unit::Percent, |sums, _, _| sums.held(GENUINE)),
    Figure("s2", "S2 %", Unit::Percent, |sums, _, _| sums.held(OBSERVED)),
    Figure("s3", "S3 %", Unit::Percent, |sums, _, _| sums.whole()),
    Figure("rereads_per_100", "re-reads", Unit::Rate, |sums, _, _| {
        sums.rereads() as f64 * 100.0 / sums.requests.max(1) as f64
    }),
    Figure("epochs_per_100", "epochs/100", Unit::Rate, |sums, _, _| {
        sums.epochs_per_hundred(sums.breaks.iter().sum())
    }),
    Figure("epochs_at_turn", "at turn", Unit::Rate, |sums, _, _| sums.epochs_per_hundred(sums.breaks[0])),
    Figure("epochs_cold", "cold", Unit::Rate, |sums, _, _| sums.epochs_per_hundred(sums.breaks[1])),
    Figure("epochs_mid_turn", "mid-turn", Unit::Rate, |sums, _, _| sums.epochs_per_hundred(sums.breaks[2])),
];

pub struct PolicyTable<'a> {
    comparison: &'a Comparison,
    prices: InputPrices,
    all: PolicySums,
}

impl<'a> PolicyTable<'a> {
    pub fn new(comparison: &'a Comparison, prices: InputPrices, sessions: &[PolicySums]) -> Self {
        let mut all = PolicySums::default();
        sessions.iter().for_each(|sums| all.add(sums));
        Self { comparison, prices, all }
    }

    fn of(&self, figure: &Figure, policy: usize) -> f64 {
        figure.3(&self.all.by_policy[policy], &self.all.raw, self.prices)
    }

    /// Costs are relative to `raw`.
    pub fn render(&self) -> String {
        let mut out = String::new();
        for figures in [COSTS, KEPT] {
            let headings = figures.iter().map(|figure| format!(" {:>7}", figure.1));
            out.push_str(&format!("{:<8}{}\n", "policy", headings.collect::<String>()));
            for (policy, name) in self.comparison.policies.iter().enumerate() {
                let cells = figures.iter().map(|figure| {
                    let width = figure.1.chars().count().max(7);
                    format!(" {:>width$}", shown(self.of(figure, policy), figure.2))
                });
                out.push_str(&format!("{:<8}{}\n", name.name(), cells.collect::<String>()));
            }
            out.push('\n');
        }
        out.pop();
        out
    }

    pub fn to_json(&self) -> Value {
        let policies = self.comparison.policies.iter().enumerate().map(|(policy, name)| {
            let figures = COSTS.iter().chain(KEPT);
            let mut row: Map<String, Value> = figures
                .map(|figure| (figure.0.to_owned(), number(self.of(figure, policy), figure.2)))
                .collect();
            row.insert("sessions".to_owned(), self.all.sessions.into());
            row.insert("policy".to_owned(), name.name().into());
            Value::Object(row)
        });
        let Comparison { settings, options, .. } = self.comparison;
        json!({
            "sessions": self.all.sessions,
            "window": settings.window_tokens,
            "cached_price": self.prices.cached,
            "write_price": self.prices.uncached,
            "system_tokens": options.system_tokens,
            "binding": options.binding,
            "policies": policies.collect::<Value>(),
        })
    }
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => format!("{value:.0}"),
        Unit::Tokens => text::human_tokens(value as u64),
        Unit::Ratio => format!("{value:.3}"),
        Unit::Percent => format!("{:.2}", value * 100.0),
        Unit::Rate => format!("{value:.2}"),
    }
}

fn number(value: f64, unit: Unit) -> Value {
    match unit {
        Unit::Count | Unit::Tokens => (value as u64).into(),
        Unit::Ratio | Unit::Percent | Unit::Rate => value.into(),
    }
}
