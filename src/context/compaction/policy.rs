//! Decides before every request which items are sent in which smaller form: when dispensable text has cost
//! more than the cache that the rewrite breaks, when the cache is cold anyway, or at the soft cap. Shared by
//! the live agent and the trace replay; the caller applies and logs.

use super::batch::Batch;
use super::cache_model::{self, Prices};
use super::rewrite_plan::RewritePlan;
use super::thresholds::{NARROW_WINDOW_TOKENS, Thresholds};
use crate::history::manager::HistoryManager;
use crate::history::references;
use crate::session::record::CauseKind;
use base::config::settings::{Binding, ContextSettings};

#[derive(Clone, Copy, Debug)]
pub struct PolicyInputs<'a> {
    pub settings: &'a ContextSettings,
    /// The prompt cache has expired since the last request.
    pub cold: bool,
    pub turn_start: bool,
    /// Estimated tokens outside the history: system prompt, rules, schemas.
    pub fixed_tokens: u64,
    /// Real tokens per estimated token, learned from usage.
    pub scale: f64,
}

/// The size from which the compaction stages must act, in tokens.
pub fn limit(settings: &ContextSettings) -> u64 {
    let share = (settings.window_tokens as f64 * settings.compression_threshold) as u64;
    let limit = share.saturating_sub(settings.output_reserve_tokens).max(1);
    // Leaves room: estimates may be off by a few percent, and one step may add some thousand tokens.
    settings.tier_tokens.map_or(limit, |tier| limit.min(tier * 9 / 10))
}

/// Where a compaction should land, in tokens: well below the trigger, or every request would compact again.
pub fn low_water(settings: &ContextSettings) -> u64 {
    let share = (settings.window_tokens as f64 * settings.low_water) as u64;
    let tenths = if settings.window_tokens < NARROW_WINDOW_TOKENS { 6 } else { 8 };
    share.min(limit(settings) * tenths / 10)
}

/// If folding can't get a request below this, in tokens, it needs a summary.
pub fn early(settings: &ContextSettings) -> u64 {
    limit(settings) * 8 / 10
}

pub fn folded_tokens(history: &HistoryManager, settings: &ContextSettings) -> u64 {
    let limits = Thresholds::of(settings.profile, settings.window_tokens, history.requests());
    RewritePlan::anew(history, &limits, 0).left()
}

/// The batches to adopt before the next request, in order.
pub fn before_request(history: &HistoryManager, situation: &PolicyInputs<'_>) -> Vec<Batch> {
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

fn due_batches(history: &HistoryManager, situation: &PolicyInputs<'_>) -> Vec<Batch> {
    let settings = situation.settings;
    let mut limits = Thresholds::of(settings.profile, settings.window_tokens, history.requests());
    // Batches come before the stages, which know less about what will be used.
    limits.soft_cap = limits.soft_cap.min(limit(settings) * 19 / 20);
    limits.landing = limits.landing.min(limits.soft_cap * 8 / 10);
    if settings.window_tokens < NARROW_WINDOW_TOKENS {
        limits.landing = limits.landing.min(limits.soft_cap / 2);
    }
    let tokens = history.tokens();
    let size = ((situation.fixed_tokens + tokens) as f64 * situation.scale) as u64;
    let Some(Occasion { patience, least_gain }) = occasion(history, situation, &limits, size) else {
        return Vec::new();
    };
    let everything = 0..history.entries().len();
    let room =
        |landing: u64| ((landing as f64 / situation.scale) as u64).saturating_sub(situation.fixed_tokens);
    if situation.cold {
        // Everything is read uncached anyway: each digest gets the lines that are most telling now.
        let plan = RewritePlan::anew(history, &limits, room(limits.cold_landing));
        if tokens.saturating_sub(plan.left()) >= least_gain {
            let cause = CauseKind::ColdCache.because(format!("{tokens} tokens, landing at {}", plan.left()));
            return plan.batches(everything, &cause);
        }
    } else {
        let plan = RewritePlan::of(history, &limits);
        let prices = Prices {
            cached: settings.cached_price,
            write: settings.write_price,
            expected_requests: cache_model::expected_requests(history.requests()),
            patience,
            least_gain,
        };
        if let Some(due) = cache_model::due_cut(&plan.candidates, prices) {
            let cause = CauseKind::Pays.because(due.explain(prices));
            return plan.batches(due.cut..everything.end, &cause);
        }
    }
    if size <= limits.soft_cap {
        return Vec::new();
    }
    let cause =
        CauseKind::SoftCap.because(format!("{size} > {}, landing at {}", limits.soft_cap, limits.landing));
    let landing = room(limits.landing);
    for _ in 0..5 {
        let plan = RewritePlan::anew(history, &limits, landing);
        if plan.left() <= landing {
            return plan.batches(everything, &cause);
        }
        limits = limits.tighter();
    }
    // A batch that makes no room for the next few steps would break the cache at each of them.
    let plan = RewritePlan::anew(history, &limits, landing);
    if plan.left() <= room(early(settings)) { plan.batches(everything, &cause) } else { Vec::new() }
}

struct Occasion {
    patience: f64,
    least_gain: u64,
}

/// Whether the past may be rewritten now, and what that must be worth. Without bound reasoning: whenever it
/// pays. With it, a rewrite starts an epoch, so it waits for the user's turn or a cold cache and must be
/// worth it, unless the request is too large.
fn occasion(
    history: &HistoryManager,
    situation: &PolicyInputs<'_>,
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
