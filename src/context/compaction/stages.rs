//! The compaction stages for a request over its limit, gentle ones first. Shared by the live agent and the
//! trace replay; the caller applies and logs a stage and asks the model for a summary.

use super::batch::Batch;
use super::trim;
use super::working_set;
use crate::history::entry::{self, HistoryEntry};
use crate::history::manager::HistoryManager;
use crate::session::record::{Cause, CauseKind, FormName};
use crate::summary::compressor;
use base::model::item::{Item, ItemId, Summary};

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
    /// Must not be exceeded.
    pub most: u64,
    /// Where a stage should land, so that the next steps don't need one.
    pub landing: u64,
}

/// Sizes are percentages of the landing.
#[derive(Clone, Copy, Debug)]
enum StageKind {
    SupersededViews,
    FinishedResults(FormName),
    /// Results of the running turn older than a few steps, compressed.
    OlderResults,
    Summarize,
    /// The running turn up to its newest `keep` steps, as digests.
    FoldSteps {
        keep: usize,
        percent: u64,
    },
    FoldFinished {
        percent: u64,
    },
    /// Every result except those of the last step, as a pointer.
    ResultsButNewest,
    FactsAlone,
    CutLongest,
    LastResults,
}

use StageKind::{FoldFinished, FoldSteps};

/// User text and the last steps stay unchanged.
const GENTLE: &[StageKind] = &[
    StageKind::SupersededViews,
    StageKind::FinishedResults(FormName::Compressed),
    StageKind::OlderResults,
    StageKind::Summarize,
    StageKind::FinishedResults(FormName::Pointer),
    FoldSteps { keep: 8, percent: 40 },
    FoldSteps { keep: 4, percent: 25 },
    FoldFinished { percent: 25 },
];

/// For a request that wouldn't fit into the window.
const HARD: &[StageKind] = &[
    FoldSteps { keep: 4, percent: 25 },
    FoldFinished { percent: 25 },
    StageKind::ResultsButNewest,
    StageKind::FactsAlone,
    FoldSteps { keep: 2, percent: 20 },
    FoldSteps { keep: 1, percent: 15 },
    StageKind::CutLongest,
    StageKind::LastResults,
    StageKind::CutLongest,
];

/// Steps of the running turn whose results stay complete as long as possible.
const FRESH_STEPS: u64 = 3;

#[derive(Clone, Debug)]
pub struct CompactionStages {
    left: &'static [StageKind],
    /// Of its folds.
    kind: CauseKind,
}

impl CompactionStages {
    pub fn gentle() -> Self {
        Self { left: GENTLE, kind: CauseKind::Compaction }
    }

    pub fn hard() -> Self {
        Self { left: HARD, kind: CauseKind::Trim }
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
        let entries = history.entries();
        let turn_start = history.turn_start();
        let fold = |range, percent: u64, what: &'static str| {
            let cause = self.kind.because(what);
            trim::fold_range(history, range, target.landing * percent / 100, |_| false, &cause)
        };
        let batches = match kind {
            StageKind::SupersededViews => {
                let stale = working_set::superseded(entries);
                let cause = CauseKind::Compaction.because("superseded copies");
                smaller(entries, FormName::Pointer, cause, |entry| stale.contains(&entry.id))
            }
            StageKind::FinishedResults(form) => finished_results(history, form),
            StageKind::OlderResults => {
                let now = history.requests();
                let cause = CauseKind::Compaction.because("older steps of this turn");
                smaller(entries, FormName::Compressed, cause, |entry| {
                    is_result(entry) && now.saturating_sub(entry.arrived_at) > FRESH_STEPS
                })
            }
            StageKind::Summarize => return Some(CompactionStage::Summarize),
            FoldSteps { keep, percent } => {
                let running = turn_start + 1;
                let steps = running..trim::newest_steps(history, keep).max(running);
                fold(steps, percent, "older steps of this turn")
            }
            FoldFinished { percent } => fold(0..turn_start, percent, "finished rounds"),
            StageKind::ResultsButNewest => {
                let newest = entries.iter().map(|entry| entry.arrived_at).max()?;
                smaller(entries, FormName::Pointer, CauseKind::Trim.because("tool results"), |entry| {
                    is_result(entry) && entry.arrived_at < newest
                })
            }
            StageKind::FactsAlone => return facts_alone(history, target),
            StageKind::CutLongest => trim::cut_longest(history, target.most),
            StageKind::LastResults => {
                let count = usize::try_from(target.most / 160).unwrap_or(1).max(1);
                trim::last_results(history, count, target.most / 8)
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
    let summary = compressor::facts_only(old, target.landing * 2);
    Some(CompactionStage::Archive { before, summary, cause: CauseKind::Trim.because("facts alone") })
}

pub fn finished_results(history: &HistoryManager, form: FormName) -> Vec<Batch> {
    let running = history.entries().get(history.turn_start()).map(|entry| entry.id);
    smaller(history.entries(), form, CauseKind::Compaction.because("finished rounds"), |entry| {
        is_result(entry) && running.is_none_or(|running| entry.id < running)
    })
}

fn is_result(entry: &HistoryEntry) -> bool {
    matches!(&*entry.item, Item::ToolResult(_) | Item::Image(_))
}

/// One batch with the chosen entries in `form`, if that makes them smaller and they aren't pinned; or none.
fn smaller(
    entries: &[HistoryEntry],
    form: FormName,
    cause: Cause,
    chosen: impl Fn(&HistoryEntry) -> bool,
) -> Vec<Batch> {
    let shrinks = |entry: &&HistoryEntry| !entry.pinned && chosen(entry) && entry.tokens_in(form).is_some();
    let items: Vec<ItemId> = entries.iter().filter(shrinks).map(|entry| entry.id).collect();
    if items.is_empty() { Vec::new() } else { vec![Batch::plain(items, form, cause)] }
}
