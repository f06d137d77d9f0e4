//! Plays a recording under a policy and hands out each request as it would have been sent. Under our own profiles the
//! decisions are those of the context engine, asked in the same order as the live agent asks it; nothing is decided here.

use std::sync::Arc;

use super::events::ReplayEvent;
use super::policy::Policy;
use crate::config::settings::{ContextSettings, Profile};
use crate::context::compaction::batch::Batch;
use crate::context::compaction::cache_model::COLD_AFTER_MS;
use crate::context::compaction::policy::{self, Situation};
use crate::context::compaction::reductions;
use crate::context::compaction::stages::{self, CompactionStage, CompactionStages, Room};
use crate::context::history::ingest;
use crate::context::history::manager::HistoryManager;
use crate::context::history::normalize;
use crate::model::item::{Item, ItemId, Summary};
use crate::model::request::Message;
use crate::session::record::FormName;

/// Plays the beats; `sink` gets the number, the time and the messages of each request.
pub fn play(
    beats: &[ReplayEvent],
    policy: Policy,
    settings: &ContextSettings,
    mut sink: impl FnMut(usize, Option<f64>, &[Message]),
) {
    let mut player = Player { history: HistoryManager::default(), settings, next_id: 1, last_ts: None };
    for beat in beats {
        match beat {
            ReplayEvent::Item(item) => player.take(item, policy),
            ReplayEvent::Request { n, ts } => {
                player.before_request(policy, *ts);
                let messages: Vec<Message> =
                    player.history.entries().iter().filter_map(|entry| entry.message().cloned()).collect();
                sink(*n, *ts, &normalize::normalize(messages));
                player.history.count_request();
                player.last_ts = *ts;
            }
        }
    }
}

struct Player<'a> {
    history: HistoryManager,
    settings: &'a ContextSettings,
    next_id: u64,
    last_ts: Option<f64>,
}

impl Player<'_> {
    fn take(&mut self, item: &Arc<Item>, policy: Policy) {
        if item.begins_round() {
            self.history.end_turn();
            if policy == Policy::Seed {
                let batch = reductions::in_finished_rounds(&self.history, FormName::Compressed);
                self.adopt(batch);
            }
        }
        let id = ItemId(self.next_id);
        self.next_id += 1;
        self.history.push(id, Arc::clone(item), None);
        if let Policy::Ours(profile) = policy {
            let batch = ingest::on_arrival(&self.history, profile, self.settings.window_tokens);
            self.adopt(batch);
        }
    }

    fn adopt(&mut self, batch: Option<Batch>) {
        if let Some(batch) = batch {
            self.history.adopt(&batch);
        }
    }

    fn before_request(&mut self, policy: Policy, ts: Option<f64>) {
        match policy {
            Policy::Raw | Policy::Seed => {}
            Policy::LastFive => {
                let results: Vec<ItemId> = self
                    .history
                    .entries()
                    .iter()
                    .filter(|entry| matches!(&*entry.item, Item::ToolResult(_)))
                    .map(|entry| entry.id)
                    .collect();
                let old = results.len().saturating_sub(5);
                self.history.set_form(&results[..old], FormName::Pointer, &[]);
            }
            Policy::Ours(profile) => self.ours(profile, ts),
        }
    }

    fn ours(&mut self, profile: Profile, ts: Option<f64>) {
        let idle_ms = match (self.last_ts, ts) {
            (Some(last), Some(now)) => ((now - last).max(0.0) * 1000.0) as u64,
            _ => 0,
        };
        let situation = Situation {
            settings: &ContextSettings { profile, ..self.settings.clone() },
            cold: idle_ms > COLD_AFTER_MS,
            fixed_tokens: 0,
            scale: 1.0,
        };
        for batch in policy::before_request(&self.history, &situation) {
            self.history.adopt(&batch);
        }
        self.guard();
    }

    /// The ladder that keeps a request inside the window; where the agent would ask a model for a summary, the facts
    /// stand alone.
    fn guard(&mut self) {
        let settings = self.settings;
        let most = settings.room_tokens();
        if self.history.tokens() >= policy::limit(settings) {
            let landing = policy::low_water(settings);
            self.climb(CompactionStages::gentle(), Room { most, landing }, |history| {
                history.tokens() <= landing
            });
        }
        if self.history.ceiling() > most {
            let room = Room { most, landing: most * 7 / 10 };
            self.climb(CompactionStages::hard(), room, |history| history.ceiling() <= most);
        }
    }

    fn climb(&mut self, mut ladder: CompactionStages, room: Room, fits: impl Fn(&HistoryManager) -> bool) {
        while !fits(&self.history)
            && let Some(measure) = ladder.climb(&self.history, room)
        {
            match measure {
                CompactionStage::Adopt(batches) => {
                    for batch in &batches {
                        self.history.adopt(batch);
                    }
                }
                CompactionStage::Summarize => self.archive(),
                CompactionStage::Archive { before, summary } => self.replace(before, summary),
            }
        }
    }

    fn archive(&mut self) {
        if let Some(CompactionStage::Archive { before, summary }) =
            stages::without_model(&self.history, self.settings.window_tokens)
        {
            self.replace(before, summary);
        }
    }

    fn replace(&mut self, before: ItemId, summary: Summary) {
        let id = ItemId(self.next_id);
        self.next_id += 1;
        self.history.archive(before, id, summary);
    }
}
