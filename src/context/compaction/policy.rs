//! The policy: before every request it looks at the history and says which items shall be sent in which smaller form.
//! The past is rewritten in batches: when what the old text has cost since it became dispensable outweighs the cache that
//! the rewriting breaks, when the cache is cold anyway, or when the soft cap demands it. The live agent and the replay of
//! traces use the same code; applying and logging are the caller's business.

use super::batch::Batch;
use super::cache_model::{self, Prices};
use super::rewrite_plan::RewritePlan;
use super::thresholds::{NARROW_WINDOW_TOKENS, Thresholds};
use super::trim;
use crate::config::settings::{Binding, ContextSettings};
use crate::context::history::manager::HistoryManager;
use crate::context::history::references;
use crate::session::record::FormName;

/// What the policy must know beside the history.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub settings: &'a ContextSettings,
    /// The prompt cache has run out since the last request.
    pub cold: bool,
    /// The request is the first since the user wrote.
    pub turn_start: bool,
    /// Estimated tokens of what is sent beside the history: system prompt, rules, schemas.
    pub fixed_tokens: u64,
    /// Real tokens per estimated one, learned from usage.
    pub scale: f64,
}

/// The size from which on the compaction stages must act, in tokens.
pub fn limit(settings: &ContextSettings) -> u64 {
    let share = (settings.window_tokens as f64 * settings.compression_threshold) as u64;
    let limit = share.saturating_sub(settings.output_reserve_tokens).max(1);
    // Estimates may be off by a few percent, and one step may bring some thousand tokens.
    settings.tier_tokens.map_or(limit, |tier| limit.min(tier * 9 / 10))
}

/// Where a compaction should land, in tokens. In a small window the reserve pulls the trigger down: landing must stay well
/// under it, or every request would compact again.
pub fn low_water(settings: &ContextSettings) -> u64 {
    let share = (settings.window_tokens as f64 * settings.low_water) as u64;
    let tenths = if settings.window_tokens < NARROW_WINDOW_TOKENS { 6 } else { 8 };
    share.min(limit(settings) * tenths / 10)
}

/// The batches to adopt before the next request, in order; empty when the past is better left alone.
pub fn before_request(history: &HistoryManager, situation: &Situation<'_>) -> Vec<Batch> {
    let mut batches = due_batches(history, situation);
    let orphans = if batches.is_empty() {
        references::orphans(history)
    } else {
        let mut after = history.clone();
        for batch in &batches {
            after.adopt(batch);
        }
        references::orphans(&after)
    };
    batches.extend(orphans);
    batches
}

fn due_batches(history: &HistoryManager, situation: &Situation<'_>) -> Vec<Batch> {
    let settings = situation.settings;
    let mut limits = Thresholds::of(settings.profile, settings.window_tokens, history.requests());
    // The batches come before the stages, which know less of what will be used.
    limits.soft_cap = limits.soft_cap.min(limit(settings) * 19 / 20);
    limits.landing = limits.landing.min(limits.soft_cap * 8 / 10);
    if settings.window_tokens < NARROW_WINDOW_TOKENS {
        limits.landing = limits.landing.min(limits.soft_cap / 2);
    }
    let tokens = history.tokens();
    let size = |saved: u64| {
        ((situation.fixed_tokens + tokens.saturating_sub(saved)) as f64 * situation.scale) as u64
    };
    let Some(Occasion { patience, least_gain }) = occasion(history, situation, &limits, size(0)) else {
        return Vec::new();
    };
    if situation.cold && size(0) > limits.cold_landing * 6 / 5 {
        let landing = (limits.cold_landing as f64 / situation.scale) as u64;
        let plan = RewritePlan::anew(history, &limits, landing.saturating_sub(situation.fixed_tokens));
        let gain = tokens.saturating_sub(plan.left());
        if gain > least_gain {
            let cause =
                format!("batch: pays (gain {gain} tokens a request, and the cache is cold: nothing is lost)");
            return plan.batches(0..history.entries().len(), &cause);
        }
    }
    let plan = RewritePlan::of(history, &limits);
    let prices = Prices {
        cached: settings.cached_price,
        write: settings.write_price,
        expected_requests: cache_model::expected_requests(history.requests()),
        cold: situation.cold,
        patience,
        least_gain,
    };
    if let Some(due) = cache_model::due_cut(&plan.candidates, prices) {
        let cause = format!("batch: pays ({})", due.explain(prices));
        return plan.batches(due.cut..history.entries().len(), &cause);
    }
    if size(0) <= limits.soft_cap {
        return Vec::new();
    }
    let cause = format!("batch: soft cap ({} > {}, landing at {})", size(0), limits.soft_cap, limits.landing);
    // Too large: the oldest first and no more than it takes; if that does not land, younger text too.
    let (mut batches, freed) = merged_digests(history, limits.landing, &cause);
    for _ in 0..4 {
        let plan = RewritePlan::of(history, &limits);
        let mut saved = freed;
        for (index, candidate) in plan.candidates.iter().enumerate() {
            saved += candidate.now - candidate.then.min(candidate.now);
            if size(saved) <= limits.landing {
                batches.extend(plan.batches(0..plan.end_of(index), &cause));
                return batches;
            }
        }
        limits = limits.tighter();
    }
    batches.extend(RewritePlan::of(history, &limits).batches(0..history.entries().len(), &cause));
    batches
}

/// When the past may be rewritten.
struct Occasion {
    patience: f64,
    least_gain: u64,
}

/// Whether the past may be rewritten now, and what that must be worth. A free policy may whenever that pays; recorded sessions
/// say that waiting twice as long keeps more and costs little. Where reasoning is bound to the past, a rewriting
/// begins an epoch (SPEC §5a): it waits for the user's turn or a cold cache, and must be worth it, unless the request is too
/// large.
fn occasion(
    history: &HistoryManager,
    situation: &Situation<'_>,
    limits: &Thresholds,
    size: u64,
) -> Option<Occasion> {
    if situation.settings.binding == Binding::None {
        return Some(Occasion { patience: 2.0, least_gain: 0 });
    }
    let worth = |least_gain| Some(Occasion { patience: 1.0, least_gain });
    let long_enough = history.requests_since_rewrite() >= limits.epoch_requests;
    let much = limits.epoch_saves + history.tokens() * 3 / 10;
    if size > limits.soft_cap {
        worth(much)
    } else if situation.cold {
        worth(limits.cold_epoch_saves)
    } else if situation.turn_start && long_enough {
        worth(much)
    } else {
        None
    }
}

/// In a turn of hundreds of steps the digests themselves pile up: once they take a third of the landing they become one.
/// With the tokens that this frees.
fn merged_digests(history: &HistoryManager, landing: u64, cause: &str) -> (Vec<Batch>, u64) {
    let running = history.turn_start() + 1;
    let Some(rest) = history.entries().get(running..) else { return (Vec::new(), 0) };
    let digests = rest.iter().filter(|entry| entry.form() == FormName::Folded);
    let taken: u64 = digests.map(|entry| u64::from(entry.tokens())).sum();
    let last = rest.iter().rposition(|entry| matches!(entry.form(), FormName::Folded | FormName::Gone));
    let Some(last) = last.filter(|_| taken > landing / 3) else { return (Vec::new(), 0) };
    let budget = landing / 8;
    let merged = trim::fold_range(history, running..running + last + 1, budget, |_| false, cause);
    (merged, taken.saturating_sub(budget))
}
