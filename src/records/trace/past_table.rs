//! Actual and hypothetical costs of past sessions as a table and a bar chart, with the assumptions.

use super::past::{ModelCost, PastCost, SYSTEM_TOKENS};
use super::policy::ALL;
use base::path::on_one_line;
use base::text::{dollars, human_tokens, plural};

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
