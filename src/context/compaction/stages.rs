//! The compaction stages for a request over its limit, gentle ones first. Shared by the live agent and the
//! trace replay; the caller applies and logs a stage and asks the model for a summary.

use super::batch::Batch;
use super::fold_plan::{FoldGoal, FoldPlan};
use super::thresholds::Thresholds;
use super::trim;
use crate::history::entry;
use crate::history::manager::HistoryManager;
use crate::session::record::{Cause, CauseKind};
use crate::summary::compressor;
use base::model::item::{ItemId, Summary};

#[derive(Clone, Debug, PartialEq)]
pub enum CompactionStage {
    Adopt(Vec<Batch>),
    Summarize,
    /// Everything before the item is reduced to the facts of the state block.
    Archive {
        before: ItemId,
        summary: Summary,
        cause: Cause,
    },
}

/// Target sizes, in tokens of the history.
#[derive(Clone, Copy, Debug)]
pub struct SizeTarget {
    pub most: u64,
    /// Where a stage should land, so that the next steps don't need one.
    pub landing: u64,
}

#[derive(Clone, Copy, Debug)]
enum StageKind {
    /// All calls but those of the newest requests, in the order of the fold plan.
    Fold {
        keep_requests: u64,
    },
    Summarize,
    FactsAlone,
    CutLongest,
    LastResults,
}

use StageKind::Fold;

/// User text and the last steps stay unchanged.
const GENTLE: &[StageKind] = &[Fold { keep_requests: 4 }, StageKind::Summarize, Fold { keep_requests: 2 }];

/// For a request that wouldn't fit into the window.
const HARD: &[StageKind] = &[
    Fold { keep_requests: 2 },
    StageKind::FactsAlone,
    Fold { keep_requests: 1 },
    StageKind::CutLongest,
    StageKind::LastResults,
    StageKind::CutLongest,
];

#[derive(Clone, Debug)]
pub struct CompactionStages {
    left: &'static [StageKind],
    /// Of its folds.
    kind: CauseKind,
    /// Whether sizes are upper bounds.
    at_most: bool,
    limits: Thresholds,
}

impl CompactionStages {
    pub fn gentle(limits: Thresholds) -> Self {
        Self { left: GENTLE, kind: CauseKind::Compaction, at_most: false, limits }
    }

    pub fn hard(limits: Thresholds) -> Self {
        Self { left: HARD, kind: CauseKind::Trim, at_most: true, limits }
    }

    /// The next stage that would change something; call again while the history is too large.
    pub fn next(&mut self, history: &HistoryManager, target: SizeTarget) -> Option<CompactionStage> {
        while let Some((kind, rest)) = self.left.split_first() {
            self.left = rest;
            let stage = self.stage(*kind, history, target);
            if stage.is_some() {
                return stage;
            }
        }
        None
    }

    fn stage(
        &self,
        kind: StageKind,
        history: &HistoryManager,
        target: SizeTarget,
    ) -> Option<CompactionStage> {
        let batches = match kind {
            Fold { keep_requests } => {
                let goal = FoldGoal {
                    landing: target.landing,
                    view_landing: target.landing,
                    keep_requests,
                    at_most: self.at_most,
                };
                let plan = FoldPlan::new(history, &self.limits, goal);
                plan.batches(&self.kind.because("older steps"))
            }
            StageKind::Summarize => return Some(CompactionStage::Summarize),
            StageKind::FactsAlone => return facts_alone(history, target),
            StageKind::CutLongest => trim::cut_longest(history, target.most),
            // If a step has more results than the window can show.
            StageKind::LastResults => {
                let goal = FoldGoal {
                    landing: target.most / 2,
                    view_landing: target.most / 2,
                    keep_requests: 0,
                    at_most: true,
                };
                FoldPlan::new(history, &self.limits, goal).batches(&self.kind.because("results of one step"))
            }
        };
        (!batches.is_empty()).then_some(CompactionStage::Adopt(batches))
    }
}

fn facts_alone(history: &HistoryManager, target: SizeTarget) -> Option<CompactionStage> {
    let turn_start = history.turn_start();
    let before = history.entries().get(turn_start).filter(|_| turn_start > 0)?.id;
    let old = &history.entries()[..turn_start];
    if entry::upper_bound_of(old) <= target.landing / 4 || old.iter().any(|entry| entry.pinned) {
        return None;
    }
    let summary = compressor::facts_only(old, history.goal(), target.landing * 2);
    Some(CompactionStage::Archive { before, summary, cause: CauseKind::Trim.because("facts alone") })
}
