//! The ladder that brings a request back under its limit: the measures of SPEC §2 in their order, the gentle ones first.
//! The live agent and the replay of traces climb the same one; carrying out and logging a measure is the climber's
//! business, and so is asking a model for a summary.

use super::batch::Batch;
use super::forced;
use super::reductions;
use crate::context::history::manager::HistoryManager;
use crate::context::summary::compressor;
use crate::context::tokens::estimate;
use crate::model::item::{ItemId, Summary};
use crate::session::record::FormName;

/// The next measure.
#[derive(Clone, Debug, PartialEq)]
pub enum CompactionStage {
    Adopt(Vec<Batch>),
    /// Old rounds into a summary, if a model can be asked.
    Summarize,
    /// Everything before the item becomes the facts of the state block alone.
    Archive {
        before: ItemId,
        summary: Summary,
    },
}

/// Sizes to reach, in tokens of the history.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// What must not be exceeded.
    pub most: u64,
    /// Where a measure should land, so that the next steps need none.
    pub landing: u64,
}

/// Measures of [`CompactionStages::gentle`] and of [`CompactionStages::hard`].
const GENTLE: u32 = 8;
const HARD: u32 = 17;

/// How far up one is.
#[derive(Clone, Copy, Debug, Default)]
pub struct CompactionStages {
    next: u32,
}

impl CompactionStages {
    /// The ladder for a request that is over its limit, but not over the window: what the user said and the last steps
    /// stay as they are.
    pub fn gentle() -> Self {
        Self { next: 0 }
    }

    /// The ladder for a request that must become smaller whatever it takes.
    pub fn hard() -> Self {
        Self { next: GENTLE }
    }

    /// The next measure that would change something; `None` at the top. Ask again as long as the history is too large.
    pub fn climb(&mut self, history: &HistoryManager, room: Room) -> Option<CompactionStage> {
        let top = if self.next < GENTLE { GENTLE } else { HARD };
        while self.next < top {
            let number = self.next;
            self.next += 1;
            if let Some(measure) = measure(history, number, room) {
                return Some(measure);
            }
        }
        None
    }
}

fn measure(history: &HistoryManager, number: u32, room: Room) -> Option<CompactionStage> {
    let plain = |batch: Option<Batch>| batch.into_iter().collect::<Vec<_>>();
    let fold = |range, share: u64, cause| {
        forced::fold_range(history, range, room.landing * share / 100, |_| false, cause)
    };
    let begin = history.turn_start();
    let running = begin + 1;
    let older_steps = |keep: usize| running..forced::newest_steps(history, keep).max(running);
    let batches = match number {
        0 => plain(reductions::superseded_copies(history)),
        1 => plain(reductions::in_finished_rounds(history, FormName::Compressed)),
        2 => plain(reductions::in_running_turn(history, FormName::Compressed)),
        3 => return Some(CompactionStage::Summarize),
        4 => plain(reductions::in_finished_rounds(history, FormName::Pointer)),
        5 => fold(older_steps(8), 40, "compaction: older steps of this turn"),
        6 => fold(older_steps(4), 25, "compaction: older steps of this turn"),
        7 => fold(0..begin, 25, "compaction: finished rounds"),
        // From here on the window itself is at stake.
        8 => fold(older_steps(4), 25, "trim: older steps"),
        9 => fold(0..begin, 25, "trim: finished rounds"),
        10 => plain(reductions::results_but_newest(history)),
        11 => return facts_alone(history, room),
        12 => fold(older_steps(2), 20, "trim: older steps"),
        13 => fold(older_steps(1), 15, "trim: older steps"),
        14 => forced::cut_longest(history, room.most),
        15 => {
            forced::last_results(history, usize::try_from(room.most / 160).unwrap_or(1).max(1), room.most / 8)
        }
        _ => forced::cut_longest(history, room.most),
    };
    (!batches.is_empty()).then_some(CompactionStage::Adopt(batches))
}

/// What stands in for [`CompactionStage::Summarize`] where no model can be asked: older rounds as facts alone, if that is less.
pub fn without_model(history: &HistoryManager, window_tokens: u64) -> Option<CompactionStage> {
    let before = [3, 2, 1].into_iter().find_map(|retain| reductions::archive_before(history, retain))?;
    let entries = history.entries();
    let old = &entries[..entries.iter().position(|entry| entry.id == before).unwrap_or(0)];
    let was: u64 = old.iter().map(|entry| u64::from(entry.tokens())).sum();
    let summary = compressor::facts_only(old, window_tokens);
    (u64::from(estimate::estimate(&summary.text)) < was)
        .then_some(CompactionStage::Archive { before, summary })
}

/// The finished rounds as nothing but the state block, where that can matter.
fn facts_alone(history: &HistoryManager, room: Room) -> Option<CompactionStage> {
    let entries = history.entries();
    let before = entries.get(history.turn_start()).filter(|_| history.turn_start() > 0)?.id;
    let old = &entries[..history.turn_start()];
    let was: u64 = old.iter().map(|entry| u64::from(entry.ceiling())).sum();
    if was <= room.landing / 4 || old.iter().any(|entry| entry.pinned) {
        return None;
    }
    Some(CompactionStage::Archive { before, summary: compressor::facts_only(old, room.landing * 2) })
}
