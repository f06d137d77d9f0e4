//! The comparison as a table and as JSON.

use serde_json::{Value, json};

use super::measure::Sums;
use super::policy::Policy;
use crate::base::text;

/// One policy's row.
pub struct PolicyRow {
    pub policy: Policy,
    pub sums: Sums,
}

/// The table, costs relative to `raw`.
pub fn render(rows: &[PolicyRow], raw_cost: f64, cached_price: f64) -> String {
    let mut out = format!(
        "{:<8} {:>8} {:>9} {:>9} {:>6} {:>6} {:>8} {:>9} {:>9}\n",
        "policy", "requests", "input", "uncached", "hit %", "cost", "peak p95", "overflows", "verbatim %"
    );
    for row in rows {
        let sums = &row.sums;
        out.push_str(&format!(
            "{:<8} {:>8} {:>9} {:>9} {:>6.1} {:>6.3} {:>8} {:>9} {:>9.2}\n",
            row.policy.name(),
            sums.requests,
            text::human_tokens(sums.input_tokens),
            text::human_tokens(sums.uncached()),
            sums.hit() * 100.0,
            sums.cost(cached_price) / raw_cost.max(1.0),
            text::human_tokens(sums.peak_p95()),
            sums.overflows,
            sums.verbatim() * 100.0
        ));
    }
    out
}

/// The same as JSON.
pub fn to_json(rows: &[PolicyRow], raw_cost: f64, cached_price: f64, window: u64, files: usize) -> Value {
    let policies: Vec<Value> = rows
        .iter()
        .map(|row| {
            let sums = &row.sums;
            json!({
                "policy": row.policy.name(),
                "requests": sums.requests,
                "input_tokens": sums.input_tokens,
                "uncached_tokens": sums.uncached(),
                "hit": sums.hit(),
                "cost": sums.cost(cached_price) / raw_cost.max(1.0),
                "peak_p95_tokens": sums.peak_p95(),
                "peak_max_tokens": sums.peaks.iter().max().copied().unwrap_or(0),
                "overflows": sums.overflows,
                "verbatim": sums.verbatim(),
                "verbatim_by_kind": {
                    "identifiers": sums.by_kind[0], "files": sums.by_kind[1], "lines": sums.by_kind[2],
                },
            })
        })
        .collect();
    json!({"sessions": files, "window": window, "cached_price": cached_price, "policies": policies})
}
