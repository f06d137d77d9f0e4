//! The comparison as a table and as JSON: all sessions, each source, and the unweighted mean of the sources;
//! with enough sessions, also confidence intervals.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use fastrand::Rng;
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
        (0..3).map(|cause| sums.epochs.per_hundred(cause, sums.requests)).sum()
    }),
    Figure("epochs_at_turn", "at turn", Unit::Rate, |sums, _, _| sums.epochs.per_hundred(0, sums.requests)),
    Figure("epochs_cold", "cold", Unit::Rate, |sums, _, _| sums.epochs.per_hundred(1, sums.requests)),
    Figure("epochs_mid_turn", "mid-turn", Unit::Rate, |sums, _, _| sums.epochs.per_hundred(2, sums.requests)),
    Figure("reasoning_kept", "reasoning kept %", Unit::Percent, |sums, _, _| sums.epochs.reasoning_kept()),
];

/// Minimum number of sessions for confidence intervals.
const SURE_FROM: usize = 8;

const DRAWS: usize = 1_000;
/// Fixed, so that results are reproducible.
const SEED: u64 = 95;

/// A session's numerator and denominator of a ratio.
type Share = (f64, f64);

pub struct PolicyTable<'a> {
    comparison: &'a Comparison,
    prices: InputPrices,
    sessions: &'a [(String, PolicySums)],
    sources: BTreeMap<&'a str, PolicySums>,
}

impl<'a> PolicyTable<'a> {
    pub fn new(
        comparison: &'a Comparison,
        prices: InputPrices,
        sessions: &'a [(String, PolicySums)],
    ) -> Self {
        let mut sources: BTreeMap<&str, PolicySums> = BTreeMap::new();
        for (source, sums) in sessions {
            sources.entry(source).or_default().add(sums);
        }
        Self { comparison, prices, sessions, sources }
    }

    fn intervals(&self, policy: usize) -> [Option<RangeInclusive<f64>>; 4] {
        let share = |of: &dyn Fn(&PolicySums) -> Share| {
            interval(&self.sessions.iter().map(|(_, sums)| of(sums)).collect::<Vec<_>>())
        };
        let held = |strictness: usize| {
            move |sums: &PolicySums| {
                let Sums { used, held, .. } = &sums.by_policy[policy];
                (held[strictness] as f64, used[strictness] as f64)
            }
        };
        let cost = |sums: &PolicySums| (sums.by_policy[policy].cost(self.prices), sums.raw.cost(self.prices));
        let whole = |sums: &PolicySums| {
            let Sums { quoted, quoted_held, .. } = sums.by_policy[policy];
            (quoted_held as f64, quoted as f64)
        };
        [share(&cost), share(&held(GENUINE)), share(&held(OBSERVED)), share(&whole)]
    }

    fn render_intervals(&self) -> String {
        if self.sessions.len() < SURE_FROM {
            return String::new();
        }
        let mut out =
            format!("\n{:<8} {:>13} {:>13} {:>13} {:>13}\n", "95 %", "cost", "S1 %", "S2 %", "S3 %");
        for (policy, name) in self.comparison.policies.iter().enumerate() {
            let units = [Unit::Ratio, Unit::Percent, Unit::Percent, Unit::Percent];
            let cells = self.intervals(policy).into_iter().zip(units);
            let cells = cells.map(|(interval, unit)| {
                let range = interval
                    .map(|range| format!("{}–{}", shown(*range.start(), unit), shown(*range.end(), unit)));
                format!(" {:>13}", range.unwrap_or_default())
            });
            out.push_str(&format!("{:<8}{}\n", name.name(), cells.collect::<String>()));
        }
        out
    }

    fn all(&self) -> PolicySums {
        let mut all = PolicySums::default();
        self.sources.values().for_each(|sums| all.add(sums));
        all
    }

    fn of(&self, figure: &Figure, sums: &PolicySums, policy: usize) -> f64 {
        figure.3(&sums.by_policy[policy], &sums.raw, self.prices)
    }

    fn mean(&self, figure: &Figure, policy: usize) -> f64 {
        let sum: f64 = self.sources.values().map(|sums| self.of(figure, sums, policy)).sum();
        sum / self.sources.len().max(1) as f64
    }

    /// Costs are relative to `raw`; `by_source` adds rows per source, and their mean.
    pub fn render(&self, by_source: bool) -> String {
        let all = self.all();
        let names = self.comparison.policies.iter().map(|policy| policy.name());
        let sources = || self.sources.iter().filter(|_| by_source);
        let longest = sources().map(|(source, _)| source.len() + 1).max().unwrap_or(0);
        let row = |label: &str, of: &dyn Fn(&Figure) -> f64, figures: &[Figure]| {
            let cells = figures.iter().map(|figure| {
                let width = figure.1.chars().count().max(7);
                format!(" {:>width$}", shown(of(figure), figure.2))
            });
            format!("{label:<width$}{}\n", cells.collect::<String>(), width = 8 + longest)
        };
        let mut out = String::new();
        for figures in [COSTS, KEPT] {
            let headings = figures.iter().map(|figure| format!(" {:>7}", figure.1));
            out.push_str(&format!(
                "{:<width$}{}\n",
                "policy",
                headings.collect::<String>(),
                width = 8 + longest
            ));
            for (policy, name) in names.clone().enumerate() {
                out.push_str(&row(name, &|figure| self.of(figure, &all, policy), figures));
                for (source, sums) in sources() {
                    let label = format!("{name} {source}");
                    out.push_str(&row(&label, &|figure| self.of(figure, sums, policy), figures));
                }
                if by_source {
                    let label = format!("{name} (mean)");
                    out.push_str(&row(&label, &|figure| self.mean(figure, policy), figures));
                }
            }
            out.push('\n');
        }
        out.pop();
        out.push_str(&self.render_intervals());
        out
    }

    pub fn to_json(&self) -> Value {
        let all = self.all();
        let policies = self.comparison.policies.iter().enumerate().map(|(policy, name)| {
            let object = |of: &dyn Fn(&Figure) -> f64| -> Map<String, Value> {
                let figures = COSTS.iter().chain(KEPT);
                figures.map(|figure| (figure.0.to_owned(), number(of(figure), figure.2))).collect()
            };
            let of_sums = |sums: &PolicySums| {
                let mut figures = object(&|figure| self.of(figure, sums, policy));
                figures.insert("sessions".to_owned(), sums.sessions.into());
                figures
            };
            let mut row = of_sums(&all);
            row.insert("policy".to_owned(), name.name().into());
            let intervals = ["cost", "s1", "s2", "s3"].into_iter().zip(self.intervals(policy)).filter_map(
                |(key, interval)| interval.map(|range| (key.to_owned(), json!([range.start(), range.end()]))),
            );
            row.insert("interval_95".to_owned(), Value::Object(intervals.collect()));
            let sources =
                self.sources.iter().map(|(source, sums)| ((*source).to_owned(), of_sums(sums).into()));
            row.insert("by_source".to_owned(), Value::Object(sources.collect()));
            row.insert("mean_of_sources".to_owned(), object(&|figure| self.mean(figure, policy)).into());
            Value::Object(row)
        });
        let Comparison { settings, options, .. } = self.comparison;
        json!({
            "sessions": all.sessions,
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

/// The 95 % interval of the ratio, by a bootstrap over the sessions. `None` for a single session.
fn interval(sessions: &[Share]) -> Option<RangeInclusive<f64>> {
    if sessions.len() < 2 {
        return None;
    }
    let mut rng = Rng::with_seed(SEED);
    let mut ratios: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn = (0..sessions.len()).map(|_| sessions[rng.usize(0..sessions.len())]);
            let (above, below) = drawn.fold((0.0, 0.0), |sum, share| (sum.0 + share.0, sum.1 + share.1));
            if below > 0.0 { above / below } else { 1.0 }
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    Some(ratios[DRAWS / 40]..=ratios[DRAWS - 1 - DRAWS / 40])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_the_ratio_of_all() {
        assert_eq!(interval(&[(1.0, 2.0)]), None);
        assert_eq!(interval(&[(1.0, 2.0); 9]), Some(0.5..=0.5));
        let mixed: Vec<Share> = (0..40).map(|n| (f64::from(n % 5), 4.0)).collect();
        let range = interval(&mixed).unwrap_or(0.0..=0.0);
        assert!(range.contains(&0.5) && *range.start() > 0.3 && *range.end() < 0.7, "{range:?}");
        assert_eq!(interval(&mixed), interval(&mixed));
    }
}
