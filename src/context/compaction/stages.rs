//! The compaction stages for a request over its limit, gentle ones first; the last one cuts long texts and marks each with the
//! id to Recall it by. Shared by the live agent and the trace replay; the caller applies and logs a stage
//! and asks the model for a summary.

use super::fold_plan::{FoldGoal, FoldPlan};
use super::policy;
use super::thresholds::Thresholds;
use crate::compress::cut;
use crate::history::entry::{self, HistoryEntry};
use crate::history::forms;
use crate::history::manager::HistoryManager;
use crate::session::record::{Batch, Cause, CauseKind, FormName};
use crate::summary::compressor;
use crate::tokens::estimate::upper_bound;
use base::config::settings::ContextSettings;
use base::model::item::{Item, ItemId, LEFT_OUT, Summary};

#[derive(Clone, Debug, PartialEq)]
pub enum CompactionStage {
    Adopt(Vec<Batch>),
    Summarize,
    /// Replaces everything before the item with the facts of the state block.
    Archive {
        before: ItemId,
        summary: Summary,
        cause: Cause,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct SizeTarget {
    /// The size that must be reached; the newest views of files leave only for this.
    pub most: u64,
    /// The size a stage aims for, so that the next steps don't need another one.
    pub landing: u64,
}

impl SizeTarget {
    /// For a request that wouldn't fit into the window. Doesn't aim lower, because the next edits need what is left.
    pub fn hard(room: u64) -> Self {
        Self { most: room, landing: room * 3 / 4 }
    }

    /// For a request over its limit; `fixed` tokens lie outside the history.
    pub fn gentle(settings: &ContextSettings, fixed: u64) -> Self {
        let low_water = policy::low_water(settings);
        let landing = low_water.saturating_sub(fixed).max(low_water / 4);
        Self { most: policy::early(settings).saturating_sub(fixed).max(landing), landing }
    }
}

#[derive(Clone, Copy, Debug)]
enum StageKind {
    /// Folds all calls but those of the newest requests, in the order of the fold plan.
    Fold {
        keep_requests: u64,
    },
    Summarize,
    FactsAlone,
    CutLongest,
    LastResults,
}

use StageKind::Fold;

/// Newest views stop leaving at this percentage of the size that must be reached.
const VIEW_SHARE: u64 = 88;

/// Keeps user text and the last steps unchanged.
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
    kind: CauseKind,
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
        let fold = |landing, view_landing, keep_requests, at_most, why| {
            let goal = FoldGoal { landing, view_landing, keep_requests, at_most };
            FoldPlan::new(history, &self.limits, goal).batches(&self.kind.because(why))
        };
        let batches = match kind {
            Fold { keep_requests } => {
                let views = target.landing.max(target.most * VIEW_SHARE / 100);
                fold(target.landing, views, keep_requests, self.at_most, "older steps")
            }
            StageKind::Summarize => return Some(CompactionStage::Summarize),
            StageKind::FactsAlone => return facts_alone(history, target),
            StageKind::CutLongest => cut_longest(history, target.most),
            // For a step whose results alone exceed the window.
            StageKind::LastResults => fold(target.most / 2, target.most / 2, 0, true, "results of one step"),
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

/// Results, arguments and the agent's words first; user text only if it takes more than half of the room.
fn cut_longest(history: &HistoryManager, room: u64) -> Vec<Batch> {
    let (pinned, free): (Vec<&HistoryEntry>, Vec<&HistoryEntry>) =
        history.entries().iter().partition(|entry| entry.pinned);
    let sizes = |entries: &[&HistoryEntry]| -> Vec<u64> {
        entries.iter().map(|entry| u64::from(entry.upper_bound())).collect()
    };
    let is_request = |entry: &HistoryEntry| matches!(&*entry.item, Item::User(_));
    let (requests, work): (Vec<&HistoryEntry>, Vec<&HistoryEntry>) =
        free.iter().partition(|entry| is_request(entry));
    let (requests, work) = (sizes(&requests), sizes(&work));
    let room = room.saturating_sub(sizes(&pinned).iter().sum());
    let work_cap = cap(&work, room.saturating_sub(requests.iter().sum()).max(room / 2));
    let work_takes: u64 = work.iter().map(|size| (*size).min(work_cap)).sum();
    let request_cap = cap(&requests, room.saturating_sub(work_takes));
    // A note must stay a note: in another form its text would be taken for the arguments of its first call.
    let mut cut = [FormName::Note, FormName::Folded, FormName::Pointer].map(|form| (form, Vec::new()));
    for entry in free {
        let most = if is_request(entry) { request_cap } else { work_cap };
        if u64::from(entry.upper_bound()) <= most {
            continue;
        }
        let is_note = matches!(entry.form(), FormName::Note | FormName::Folded);
        let short = match &*entry.item {
            // Reasoning can't be cut: its signature covers all of it.
            Item::Reasoning(_) => continue,
            Item::Image(image) if !is_note => image.placeholder(LEFT_OUT),
            Item::ToolCall(_) if !is_note => forms::short_args(entry.id, entry.text(), most),
            _ => ends(entry.id, entry.text(), most),
        };
        let form = if is_note { entry.form() } else { FormName::Pointer };
        if let Some((_, texts)) = cut.iter_mut().find(|(of, _)| *of == form) {
            texts.push((entry.id, short.into()));
        }
    }
    let cut = cut.into_iter().filter(|(_, texts)| !texts.is_empty());
    cut.map(|(form, texts)| Batch::with_texts(texts, form, CauseKind::Trim.because("long texts"))).collect()
}

/// The largest size to which all texts can be cut so that together they fit into `room`.
fn cap(sizes: &[u64], room: u64) -> u64 {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (index, size) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - index) as u64;
        if *size > share {
            return share;
        }
        left -= size;
    }
    u64::MAX
}

/// Start and end of `whole` in about `max_tokens`, with a mark that names the original.
fn ends(id: ItemId, whole: &str, max_tokens: u64) -> String {
    let size = |text: &str| u64::from(upper_bound(text));
    let mark = format!("\n[… full text: Recall {{\"id\":{}}} …]\n", id.0);
    let most = max_tokens.saturating_sub(size(&mark) + 8);
    let now = size(whole).max(1);
    let mut room = usize::try_from(whole.len() as u64 * most / now).unwrap_or(usize::MAX).min(whole.len());
    while room >= 16 {
        let (head, tail, _) = cut::head_and_tail(whole, room);
        if size(head) + size(tail) <= most {
            return format!("{head}{mark}{tail}");
        }
        room = room * 3 / 4;
    }
    mark.trim().to_owned()
}
