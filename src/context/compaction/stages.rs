//! The compaction stages of SPEC §2 in their order, the gentle ones first: what to do next for a request that is over its
//! limit. The live agent and the replay of traces use the same ones; carrying out and logging a stage is the caller's
//! business, and so is asking a model for a summary.

use super::batch::Batch;
use super::trim;
use super::working_set;
use crate::history::entry::{self, Entry};
use crate::history::manager::HistoryManager;
use crate::session::record::FormName;
use crate::summary::compressor;
use base::model::item::{Item, ItemId, Summary};

/// What to do next.
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
pub struct SizeTarget {
    /// What must not be exceeded.
    pub most: u64,
    /// Where a stage should land, so that the next steps need none.
    pub landing: u64,
}

/// The kinds of stages. Sizes are percentages of the landing.
#[derive(Clone, Copy, Debug)]
enum StageKind {
    /// Superseded file views anywhere, as pointers.
    SupersededViews,
    /// Every result of finished rounds in a smaller form.
    FinishedResults(FormName),
    /// The results of the running turn that are older than a few steps, compressed.
    OlderResults,
    Summarize,
    /// The running turn before its newest `keep` steps, as digests.
    FoldSteps {
        keep: usize,
        percent: u64,
    },
    FoldFinished {
        percent: u64,
    },
    /// Every result but those of the last step, as a pointer.
    ResultsButNewest,
    /// The finished rounds as nothing but the state block.
    FactsAlone,
    CutLongest,
    LastResults,
}

use StageKind::{FoldFinished, FoldSteps};

/// What the user wrote and the last steps stay as they are.
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

/// For a request that would not fit into the window.
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

/// Steps of the running turn whose results stay whole as long as possible.
const FRESH_STEPS: u64 = 3;

/// The stages that are left to try.
#[derive(Clone, Debug)]
pub struct CompactionStages {
    left: &'static [StageKind],
    /// What the causes of its folds begin with.
    label: &'static str,
}

impl CompactionStages {
    /// For a request that is over its limit, but not over the window.
    pub fn gentle() -> Self {
        Self { left: GENTLE, label: "compaction" }
    }

    /// For a request that must become smaller whatever it takes.
    pub fn hard() -> Self {
        Self { left: HARD, label: "trim" }
    }

    /// The next stage that would change something; `None` after the last. Ask again while the history is too large.
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
        let fold = |range, percent: u64, what: &str| {
            let cause = format!("{}: {what}", self.label);
            trim::fold_range(history, range, target.landing * percent / 100, |_| false, &cause)
        };
        let batches = match kind {
            StageKind::SupersededViews => {
                let stale = working_set::superseded(entries);
                let cause = "compaction: superseded copies";
                smaller(entries, FormName::Pointer, cause, |entry| stale.contains(&entry.id))
            }
            StageKind::FinishedResults(form) => finished_results(history, form),
            StageKind::OlderResults => {
                let now = history.requests();
                let cause = "compaction: older steps of this turn";
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
                smaller(entries, FormName::Pointer, "trim: tool results", |entry| {
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

/// The finished rounds as nothing but the state block, where that can matter.
fn facts_alone(history: &HistoryManager, target: SizeTarget) -> Option<CompactionStage> {
    let turn_start = history.turn_start();
    let before = history.entries().get(turn_start).filter(|_| turn_start > 0)?.id;
    let old = &history.entries()[..turn_start];
    if entry::upper_bound_of(old) <= target.landing / 4 || old.iter().any(|entry| entry.pinned) {
        return None;
    }
    Some(CompactionStage::Archive { before, summary: compressor::facts_only(old, target.landing * 2) })
}

/// Every result of finished rounds in `form`.
pub fn finished_results(history: &HistoryManager, form: FormName) -> Vec<Batch> {
    let running = history.entries().get(history.turn_start()).map(|entry| entry.id);
    smaller(history.entries(), form, "compaction: finished rounds", |entry| {
        is_result(entry) && running.is_none_or(|running| entry.id < running)
    })
}

fn is_result(entry: &Entry) -> bool {
    matches!(&*entry.item, Item::ToolResult(_) | Item::Image(_))
}

/// The chosen entries in `form`, as far as that makes them smaller and they are not pinned: one batch, or none.
fn smaller(
    entries: &[Entry],
    form: FormName,
    cause: &'static str,
    chosen: impl Fn(&Entry) -> bool,
) -> Vec<Batch> {
    let shrinks = |entry: &&Entry| !entry.pinned && chosen(entry) && entry.tokens_in(form).is_some();
    let items: Vec<ItemId> = entries.iter().filter(shrinks).map(|entry| entry.id).collect();
    if items.is_empty() { Vec::new() } else { vec![Batch::plain(items, form, cause)] }
}
