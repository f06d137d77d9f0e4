//! Replays a recording under a policy and passes on each request. Under our profiles, all decisions come from
//! the context engine, called in the same order as by the live agent.

use std::sync::Arc;

use super::policy::Policy;
use super::recording::events::ReplayEvent;
use base::config::settings::{Binding, ContextSettings, Profile};
use base::model::item::{Item, ItemId, Summary};
use base::model::request::Message;
use context::compaction::policy::{self, PolicyInputs};
use context::compaction::stages::{CompactionStage, CompactionStages, SizeTarget};
use context::compaction::thresholds::Thresholds;
use context::compress::tool_result::ToolResultCompressor;
use context::history::manager::HistoryManager;
use context::history::{entry, normalize};
use context::summary::compressor;
use context::tokens::estimate::estimate;

/// Assumptions about the model and the rest of the request.
#[derive(Clone, Debug, Default)]
pub struct ReplayOptions {
    /// What happens to the model's reasoning when earlier context changes.
    pub binding: Binding,
    /// Tokens of the constant prefix: system prompt, rules and schemas.
    pub system_tokens: u64,
    /// Other values for thresholds, by name.
    pub set: Vec<(String, f64)>,
}

#[derive(Clone, Copy, Debug)]
pub struct ReplayedRequest<'a> {
    pub n: usize,
    /// The first request of a turn.
    pub turn_start: bool,
    pub cold: bool,
    pub messages: &'a [Message],
}

pub fn play(
    events: &[ReplayEvent],
    policy: Policy,
    settings: &ContextSettings,
    options: &ReplayOptions,
    mut sink: impl FnMut(&ReplayedRequest<'_>),
) {
    let history = HistoryManager::default();
    let mut player = Player { history, settings, options, next_id: 1, turn_start: false };
    let (mut n, mut last_ts) = (0, None);
    for event in events {
        match event {
            ReplayEvent::Item(item) => player.push(item, policy),
            ReplayEvent::Request { ts } => {
                let idle_s = last_ts.zip(*ts).map_or(0.0, |(last, now): (f64, f64)| now - last);
                let cold = idle_s > settings.cache_ms as f64 / 1000.0;
                if let Policy::Ours(profile) = policy {
                    player.ours(profile, cold);
                }
                let messages: Vec<Message> =
                    player.history.entries().iter().filter_map(|entry| entry.message().cloned()).collect();
                let messages = &normalize::normalize(messages);
                sink(&ReplayedRequest { n, turn_start: player.turn_start, cold, messages });
                player.history.count_request();
                player.turn_start = false;
                last_ts = ts.or(last_ts);
                n += 1;
            }
        }
    }
}

/// What the server has counted, and the upper bound of what arrived since.
fn at_most(history: &HistoryManager) -> u64 {
    let now = history.requests();
    let fresh = history.entries().iter().rev().take_while(|entry| entry.arrived_at + 1 >= now);
    let unsure: u32 = fresh.map(|entry| entry.upper_bound().saturating_sub(entry.tokens())).sum();
    // Here an estimate replaces the server's count, so use a bound for unusual text.
    let counted = |entry: &entry::HistoryEntry| {
        u64::from((entry.tokens() * 107 / 100).max(entry.upper_bound() * 7 / 10))
    };
    history.entries().iter().map(counted).sum::<u64>() + u64::from(unsure)
}

struct Player<'a> {
    history: HistoryManager,
    settings: &'a ContextSettings,
    options: &'a ReplayOptions,
    next_id: u64,
    turn_start: bool,
}

impl Player<'_> {
    fn next_id(&mut self) -> ItemId {
        self.next_id += 1;
        ItemId(self.next_id - 1)
    }

    fn push(&mut self, item: &Arc<Item>, policy: Policy) {
        if item.begins_round() {
            self.turn_start = true;
            self.history.end_turn();
        }
        let id = self.next_id();
        self.history.push(id, Arc::clone(item), None);
        if let Policy::Ours(profile) = policy
            && let Some(batch) = ToolResultCompressor::on_arrival(&self.history, &self.limits(profile))
        {
            self.history.adopt(&batch);
        }
    }

    fn limits(&self, profile: Profile) -> Thresholds {
        let limits = Thresholds::of(profile, self.settings.window_tokens);
        self.options
            .set
            .iter()
            .fold(limits, |limits, (name, value)| limits.with(name, *value).unwrap_or(limits))
    }

    fn ours(&mut self, profile: Profile, cold: bool) {
        let ReplayOptions { binding, system_tokens: fixed_tokens, .. } = *self.options;
        let limits = self.limits(profile);
        let situation = PolicyInputs {
            settings: &ContextSettings { profile, binding, ..self.settings.clone() },
            limits,
            cold,
            turn_start: self.turn_start,
            fixed_tokens,
            scale: 1.0,
        };
        for batch in policy::before_request(&self.history, &situation) {
            self.history.adopt(&batch);
        }
        let settings = self.settings;
        if self.history.tokens() + fixed_tokens >= policy::limit(settings) {
            let target = SizeTarget::gentle(settings, fixed_tokens);
            self.compact(CompactionStages::gentle(limits), target, |history| history.tokens() <= target.most);
        }
        let most = settings.room_tokens().saturating_sub(fixed_tokens);
        if at_most(&self.history) > most {
            let room = most.min(self.history.upper_bound().saturating_sub(at_most(&self.history) - most));
            self.compact(CompactionStages::hard(limits), SizeTarget::hard(room), |history| {
                at_most(history) <= most
            });
        }
    }

    fn compact(
        &mut self,
        mut stages: CompactionStages,
        target: SizeTarget,
        fits: impl Fn(&HistoryManager) -> bool,
    ) {
        while !fits(&self.history)
            && let Some(stage) = stages.next(&self.history, target)
        {
            match stage {
                CompactionStage::Adopt(batches) => {
                    for batch in &batches {
                        self.history.adopt(batch);
                    }
                }
                CompactionStage::Summarize => self.archive_as_facts(),
                CompactionStage::Archive { before, summary, .. } => self.archive(before, summary),
            }
        }
    }

    /// Replaces the model-written summary with facts only, if that is shorter.
    fn archive_as_facts(&mut self) {
        let Some(before) = [3, 2, 1].into_iter().find_map(|retain| self.history.archive_before(retain))
        else {
            return;
        };
        let entries = self.history.entries();
        let old = &entries[..entries.iter().position(|entry| entry.id == before).unwrap_or(0)];
        let summary = compressor::facts_only(old, None, self.settings.window_tokens);
        if u64::from(estimate(&summary.text)) < entry::tokens_of(old) {
            self.archive(before, summary);
        }
    }

    fn archive(&mut self, before: ItemId, summary: Summary) {
        let id = self.next_id();
        self.history.archive(before, id, summary);
    }
}
