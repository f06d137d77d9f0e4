//! The policy: before every request it looks at the history and says which items shall be sent in which smaller form.
//! The past is rewritten in batches, when what the old text has cost since it became dispensable outweighs the cache that
//! a rewriting breaks, when the cache is cold anyway, or when the soft cap demands it. The same code serves the live agent
//! and the replay of traces; applying and logging are the caller's business.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::batch::Batch;
use super::fold_ranges::{self, FoldRange};
use super::forced;
use super::working_set;
use crate::config::settings::ContextSettings;
use crate::context::compaction::cache_model::{self, Candidate, Prices};
use crate::context::compaction::fold;
use crate::context::compaction::profile::Thresholds;
use crate::context::compress::{identifiers, mask, tool_result};
use crate::context::history::entry::Entry;
use crate::context::history::manager::HistoryManager;
use crate::context::history::references;
use crate::model::item::{Item, ItemId};
use crate::session::record::FormName;

/// What the policy must know beside the history.
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    pub settings: &'a ContextSettings,
    /// The prompt cache has run out since the last request.
    pub cold: bool,
    /// Estimated tokens of what is sent beside the history: system prompt, rules, schemas.
    pub fixed_tokens: u64,
    /// Real tokens per estimated one, learned from usage.
    pub scale: f64,
}

/// In windows under this size a few steps fill what a batch has freed: batches free more there.
const NARROW_WINDOW_TOKENS: u64 = 64_000;

/// The size from which on the window ladder must act, in tokens.
pub fn limit(settings: &ContextSettings) -> u64 {
    let share = (settings.window_tokens as f64 * settings.compression_threshold) as u64;
    share.saturating_sub(settings.output_reserve_tokens).max(1)
}

/// Where a compaction should land, in tokens. In a small window the reserve pulls the trigger down: landing must stay well
/// under it, or every request would compact again.
pub fn low_water(settings: &ContextSettings) -> u64 {
    let share = (settings.window_tokens as f64 * settings.low_water) as u64;
    let tenths = if settings.window_tokens < NARROW_WINDOW_TOKENS { 6 } else { 8 };
    share.min(limit(settings) * tenths / 10)
}

/// What one entry may become.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CompactionPlan {
    Stay,
    Mask,
    Point,
    /// Part of the segment with this index.
    Fold(usize),
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
    let mut limits = Thresholds::of(settings.profile, settings.window_tokens);
    // The batches come before the ladder, which knows less of what will be used.
    limits.soft_cap = limits.soft_cap.min(limit(settings) * 19 / 20);
    limits.landing = limits.landing.min(limits.soft_cap * 8 / 10);
    if settings.window_tokens < NARROW_WINDOW_TOKENS {
        limits.landing = limits.landing.min(limits.soft_cap / 2);
    }
    let size = |saved: u64| {
        ((situation.fixed_tokens + history.tokens().saturating_sub(saved)) as f64 * situation.scale) as u64
    };
    let weighed = weigh(history, &limits);
    let prices = Prices {
        cached: settings.cached_price,
        expected_requests: cache_model::expected_requests(history.requests()),
        cold: situation.cold,
    };
    if let Some(due) = cache_model::due_cut(&weighed.candidates, prices) {
        let cause = format!("batch: pays ({})", due.explain(prices));
        return weighed.batches(history, &limits, due.cut..weighed.plans.len(), &cause);
    }
    if size(0) <= limits.soft_cap {
        return Vec::new();
    }
    let cause = format!("batch: soft cap ({} > {}, landing at {})", size(0), limits.soft_cap, limits.landing);
    // Too large: the oldest first and no more than it takes; if that does not land, younger text too.
    let (merged, freed) = merged_digests(history, limits.landing, &cause);
    for _ in 0..4 {
        let weighed = weigh(history, &limits);
        let mut saved = freed;
        for (index, candidate) in weighed.candidates.iter().enumerate() {
            saved += candidate.now - candidate.then.min(candidate.now);
            if size(saved) <= limits.landing {
                let more = weighed.batches(history, &limits, 0..weighed.end_of(index), &cause);
                return merged.into_iter().chain(more).collect();
            }
        }
        limits = limits.tighter();
    }
    let weighed = weigh(history, &limits);
    let more = weighed.batches(history, &limits, 0..weighed.plans.len(), &cause);
    merged.into_iter().chain(more).collect()
}

/// In a turn of hundreds of steps the digests themselves pile up: once they take a third of the landing they become one.
/// With the tokens that this frees.
fn merged_digests(history: &HistoryManager, landing: u64, cause: &str) -> (Vec<Batch>, u64) {
    let running = history.turn_start() + 1;
    let Some(rest) = history.entries().get(running..) else { return (Vec::new(), 0) };
    let told = |entry: &&Entry| entry.form() == FormName::Folded;
    let taken: u64 = rest.iter().filter(told).map(|entry| u64::from(entry.tokens())).sum();
    let last = rest.iter().rposition(|entry| matches!(entry.form(), FormName::Folded | FormName::Gone));
    let Some(last) = last.filter(|_| taken > landing / 3) else { return (Vec::new(), 0) };
    let budget = landing / 8;
    let merged = forced::fold_range(history, running..running + last + 1, budget, |_| false, cause);
    (merged, taken.saturating_sub(budget))
}

/// The history with what each entry could become.
struct CostDecision {
    plans: Vec<CompactionPlan>,
    candidates: Vec<Candidate>,
    segments: Vec<FoldRange>,
}

fn weigh(history: &HistoryManager, limits: &Thresholds) -> CostDecision {
    let entries = history.entries();
    let now = history.requests();
    let kept = working_set::protected(entries, now, limits.set_requests, limits.set_tokens);
    let stale = working_set::superseded(entries);
    let leant_on = references::pointed_at(entries, now, limits.set_requests);
    let segments = fold_ranges::foldable(history, limits);
    let mut plans = vec![CompactionPlan::Stay; entries.len()];
    let mut candidates: Vec<Candidate> =
        entries.iter().map(|entry| Candidate::stays(entry.tokens())).collect();
    for (number, segment) in segments.iter().enumerate() {
        let part = &entries[segment.range.clone()];
        let tokens: u64 = part.iter().map(|entry| u64::from(entry.tokens())).sum();
        let then = fold_ranges::digest_estimate(part, limits);
        if part.iter().any(|entry| entry.pinned || leant_on.contains(&entry.id)) || then >= tokens {
            continue;
        }
        for index in segment.range.clone() {
            plans[index] = CompactionPlan::Fold(number);
            candidates[index] = Candidate { now: 0, then: 0, overdue: 0 };
        }
        candidates[segment.range.start] = Candidate { now: tokens, then, overdue: segment.overdue };
    }
    for (index, entry) in entries.iter().enumerate() {
        let age = now.saturating_sub(entry.arrived_at);
        if plans[index] != CompactionPlan::Stay || entry.pinned || age < limits.fresh {
            continue;
        }
        if kept.contains(&entry.id) || leant_on.contains(&entry.id) {
            continue;
        }
        let tokens = entry.tokens();
        let (plan, then, from) = match &*entry.item {
            Item::ToolResult(_) if entry.form() < FormName::Pointer && stale.contains(&entry.id) => {
                (CompactionPlan::Point, 40, limits.fresh)
            }
            Item::ToolResult(_)
                if age >= limits.mask_after
                    && entry.form() < FormName::Masked
                    && tokens >= limits.mask_from_tokens =>
            {
                let names = (f64::from(tokens) * limits.names_share) as u32;
                (CompactionPlan::Mask, mask_budget(tokens, limits) + names + 20, limits.mask_after)
            }
            Item::ToolCall(_)
                if age >= limits.args_after
                    && entry.form() < FormName::Masked
                    && tokens >= limits.mask_from_tokens * 2 =>
            {
                (CompactionPlan::Mask, mask_budget(tokens, limits) + 40, limits.args_after)
            }
            _ => continue,
        };
        if then < tokens {
            plans[index] = plan;
            candidates[index] =
                Candidate { now: u64::from(tokens), then: u64::from(then), overdue: age - from.min(age) };
        }
    }
    CostDecision { plans, candidates, segments }
}

fn mask_budget(tokens: u32, limits: &Thresholds) -> u32 {
    (f64::from(tokens) * limits.mask_share) as u32
}

impl CostDecision {
    /// Behind what belongs to the entry at `index`: a segment is folded as a whole.
    fn end_of(&self, index: usize) -> usize {
        match self.plans[index] {
            CompactionPlan::Fold(number) => self.segments[number].range.end,
            _ => index + 1,
        }
    }

    /// The plans for the entries in `range`, carried out.
    fn batches(
        &self,
        history: &HistoryManager,
        limits: &Thresholds,
        chosen: Range<usize>,
        cause: &str,
    ) -> Vec<Batch> {
        let entries = history.entries();
        let mut said = Said::of(entries);
        let mut masked: Vec<(ItemId, Arc<str>)> = Vec::new();
        let mut pointed: Vec<(ItemId, Arc<str>)> = Vec::new();
        let mut folded: Vec<(ItemId, Arc<str>)> = Vec::new();
        let mut gone: Vec<ItemId> = Vec::new();
        // From the end, so that the names used behind an entry are gathered once and not for each entry anew.
        for (index, entry) in entries.iter().enumerate().take(chosen.end).skip(chosen.start).rev() {
            match (self.plans[index], &*entry.item) {
                (CompactionPlan::Mask, Item::ToolCall(call)) => {
                    if let Some(args) = mask::args(entry.id, call, mask_budget(entry.tokens(), limits)) {
                        masked.push((entry.id, args.into()));
                    }
                }
                (CompactionPlan::Mask, _) => {
                    let used = said.since(entry.id);
                    let budget = mask_budget(entry.tokens(), limits);
                    let names = (f64::from(entry.tokens()) * limits.names_share) as u32;
                    if let Some(text) = mask::mask(entry.id, entry.text(), used, budget, names) {
                        masked.push((entry.id, text.into()));
                    }
                }
                (CompactionPlan::Point, Item::ToolResult(result)) => {
                    pointed.push((entry.id, tool_result::pointer(entry.id, result).into()));
                }
                (CompactionPlan::Fold(number), _) => {
                    let range = self.segments[number].range.clone();
                    if range.start == index {
                        let part = &entries[range];
                        let used = said.since(part.last().map_or(entry.id, |last| last.id));
                        folded.push((
                            entry.id,
                            fold::digest(
                                part,
                                used,
                                limits.said_chars,
                                fold_ranges::names_budget(part, limits),
                            )
                            .into(),
                        ));
                    } else if range.start >= chosen.start {
                        gone.push(entry.id);
                    }
                }
                _ => {}
            }
        }
        for list in [&mut masked, &mut pointed, &mut folded] {
            list.reverse();
        }
        gone.reverse();
        let mut batches = vec![
            Batch::with_texts(masked, FormName::Masked, cause.to_owned()),
            Batch::with_texts(pointed, FormName::Pointer, cause.to_owned()),
            Batch::with_texts(folded, FormName::Folded, cause.to_owned()),
            Batch::plain(gone, FormName::Gone, cause.to_owned()),
        ];
        batches.retain(|batch| !batch.items.is_empty());
        batches
    }
}

/// The names in what the agent said and called, by item: what an observation is cited by.
struct Said<'a> {
    /// What has not been gathered yet, oldest first.
    names: Vec<(ItemId, &'a str)>,
    gathered: HashSet<&'a str>,
}

impl<'a> Said<'a> {
    fn of(entries: &'a [Entry]) -> Self {
        let names = entries
            .iter()
            .filter_map(|entry| {
                let text: &str = match &*entry.item {
                    Item::Assistant { text } => text,
                    Item::ToolCall(call) => &call.args,
                    Item::User(message) => &message.text,
                    _ => return None,
                };
                Some((entry.id, text))
            })
            .collect();
        Self { names, gathered: HashSet::new() }
    }

    /// Names used behind `id`; to be asked from the newest entry to the oldest.
    fn since(&mut self, id: ItemId) -> &HashSet<&'a str> {
        while let Some((_, text)) = self.names.pop_if(|(at, _)| *at > id) {
            self.gathered.extend(identifiers::identifiers(text));
        }
        &self.gathered
    }
}
