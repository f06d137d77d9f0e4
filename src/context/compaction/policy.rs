//! Decides before every request whether the past is rewritten: at the user's turn if that pays, when the prompt cache has
//! expired, or at the soft cap; never within a turn because it pays. A rewrite costs the cache from its first change on,
//! and the reasoning too if the model binds it to the past. Shared by the live agent and the trace replay; the caller applies and logs.

use super::fold_plan::{FoldGoal, FoldPlan};
use super::thresholds::Thresholds;
use crate::history::manager::HistoryManager;
use crate::history::references;
use crate::session::record::{Batch, CauseKind};
use base::config::settings::ContextSettings;
use base::model::item::Item;

const PLACES_TRIED: usize = 8;

#[derive(Clone, Copy, Debug)]
pub struct PolicyInputs<'a> {
    pub settings: &'a ContextSettings,
    pub limits: Thresholds,
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
    // 10% of the tier stays free: estimates may be off by a few percent, and a step may add some thousand tokens.
    settings.tier_tokens.map_or(limit, |tier| limit.min(tier * 9 / 10))
}

/// Well below the trigger, so that not every request compacts again.
pub fn low_water(settings: &ContextSettings) -> u64 {
    let share = (settings.window_tokens as f64 * settings.low_water) as u64;
    share.min(limit(settings) * 6 / 10)
}

/// The size above which the past is folded. Lower than `limit`: the stages there know less about what will be used.
fn soft_cap(settings: &ContextSettings, limits: &Thresholds) -> u64 {
    limits.soft_cap.min(limit(settings) * 19 / 20)
}

/// Whether a request of `size` tokens is one of the last before a fold.
pub fn fold_is_near(size: u64, settings: &ContextSettings, limits: &Thresholds) -> bool {
    size > soft_cap(settings, limits) * 8 / 10
}

/// A request that folding can't get below this, in tokens, needs a summary.
pub fn early(settings: &ContextSettings) -> u64 {
    limit(settings) * 8 / 10
}

pub fn folded_tokens(history: &HistoryManager, settings: &ContextSettings) -> u64 {
    let limits = Thresholds::of_settings(settings);
    let goal = FoldGoal { landing: 0, view_landing: 0, keep_requests: limits.keep_requests, at_most: false };
    FoldPlan::new(history, &limits, goal).left()
}

pub fn before_request(history: &HistoryManager, situation: &PolicyInputs<'_>) -> Vec<Batch> {
    with_orphans(history, due_batches(history, situation))
}

/// For the user's `/compact`: folds all it can, but leaves newest views up to a quarter of the window.
pub fn on_request(history: &HistoryManager, settings: &ContextSettings) -> Vec<Batch> {
    let limits = Thresholds::of_settings(settings);
    let view_landing = limits.cold_landing.min(settings.window_tokens / 4);
    let goal = FoldGoal { landing: 0, view_landing, keep_requests: 1, at_most: false };
    let plan = FoldPlan::new(history, &limits, goal);
    let (tokens, left) = (history.tokens(), plan.left());
    if left >= tokens {
        return Vec::new();
    }
    with_orphans(history, plan.batches(&CauseKind::Compaction.because(format!("{tokens} tokens to {left}"))))
}

fn with_orphans(history: &HistoryManager, mut batches: Vec<Batch>) -> Vec<Batch> {
    let mut after = history.clone();
    batches.iter().for_each(|batch| after.adopt(batch));
    batches.extend(references::orphans(&after));
    batches
}

fn due_batches(history: &HistoryManager, situation: &PolicyInputs<'_>) -> Vec<Batch> {
    let &PolicyInputs { settings, limits, cold, turn_start, fixed_tokens, scale } = situation;
    let tokens = history.tokens();
    let size = ((fixed_tokens + tokens) as f64 * scale) as u64;
    let soft_cap = soft_cap(settings, &limits);
    let rested = history.requests_since_rewrite() >= limits.epoch_requests;
    let (landing, kind) = if size > soft_cap {
        (limits.landing, CauseKind::SoftCap)
    } else if cold {
        (limits.cold_landing, CauseKind::ColdCache)
    } else if turn_start && rested {
        (limits.turn_landing, CauseKind::Pays)
    } else {
        return Vec::new();
    };
    let landing = landing.min(soft_cap * 8 / 10);
    let in_history = |size: u64| ((size as f64 / scale) as u64).saturating_sub(fixed_tokens);
    let room = in_history(landing);
    let views = if size > soft_cap { soft_cap * limits.view_share / 100 } else { 0 };
    let view_landing = room.max(in_history(views));
    let goal = FoldGoal { landing: room, view_landing, keep_requests: limits.keep_requests, at_most: false };
    let mut plan = FoldPlan::new(history, &limits, goal);
    let freed = |plan: &FoldPlan| tokens.saturating_sub(plan.left());
    // If it sends again more than twice what it frees, it must at least put off the next one.
    if kind == CauseKind::SoftCap && plan.tail() > 2 * freed(&plan) {
        let goal = FoldGoal { view_landing: room.max(in_history(views * 3 / 4)), ..goal };
        plan = FoldPlan::new(history, &limits, goal);
    }
    if kind == CauseKind::SoftCap && !cold {
        let step = tokens as f64 / history.requests().max(1) as f64;
        let request_costs = |plan: &FoldPlan| {
            let lost = plan.tail() as f64 * (settings.write_price - settings.cached_price);
            lost * step / freed(plan).max(1) as f64 + plan.left() as f64 * settings.cached_price
        };
        let is_result = |at: usize| matches!(&*history.entries()[at].item, Item::ToolResult(_));
        let steps = (1..history.entries().len()).filter(|at| is_result(at - 1) && !is_result(*at));
        let later = steps.clone().step_by(steps.count() / PLACES_TRIED + 1);
        // A plan that starts later keeps all newest views, because it can't fold the oldest of them.
        let goal = FoldGoal { view_landing: u64::MAX, ..goal };
        let later = later.map(|first| plan.starting_at(first, history, &limits, goal));
        let deep = later.filter(|later| freed(later) * 3 >= freed(&plan) * 2);
        let costs = deep.map(|later| (request_costs(&later), later));
        let cheapest = costs.min_by(|one, other| one.0.total_cmp(&other.0));
        if let Some((_, cheapest)) = cheapest.filter(|(costs, _)| *costs < request_costs(&plan)) {
            plan = cheapest;
        }
    }
    let (left, tail, gain) = (plan.left(), plan.tail(), freed(&plan));
    let worth = match kind {
        // A rewrite that makes no room for the next few steps would break the cache at each of them.
        CauseKind::SoftCap => gain >= size * 15 / 100,
        CauseKind::ColdCache => gain >= limits.cold_epoch_saves,
        _ => {
            let saved = gain as f64 * settings.cached_price * history.requests().max(10) as f64;
            let lost = tail as f64 * (settings.write_price - settings.cached_price);
            gain >= limits.epoch_saves && saved > lost
        }
    };
    if !worth {
        return Vec::new();
    }
    plan.batches(&kind.because(format!("{tokens} tokens to {left}, {tail} of them read again")))
}
