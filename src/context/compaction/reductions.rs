//! What can be given up when the window gets full without telling anything anew: superseded copies, smaller forms of
//! results in finished rounds and in the running turn. Each is a plan; `ladder` has their order, the agent applies and
//! logs them.

use super::batch::Batch;
use super::working_set;
use crate::context::history::entry::Entry;
use crate::context::history::manager::HistoryManager;
use crate::model::item::{Item, ItemId};
use crate::session::record::FormName;

/// Steps of the running turn whose observations stay whole as long as possible.
const FRESH_STEPS: u64 = 3;

/// Superseded file views anywhere before the last few steps, as pointers.
pub fn superseded_copies(history: &HistoryManager) -> Option<Batch> {
    let stale = working_set::superseded(history.entries());
    batch(history, FormName::Pointer, "compaction: superseded copies", |entry| stale.contains(&entry.id))
}

/// Every result of finished rounds in `form`.
pub fn in_finished_rounds(history: &HistoryManager, form: FormName) -> Option<Batch> {
    let Some(first_running) = history.entries().get(history.turn_start()).map(|entry| entry.id) else {
        return batch(history, form, "compaction: finished rounds", is_result);
    };
    batch(history, form, "compaction: finished rounds", |entry| entry.id < first_running && is_result(entry))
}

/// The oldest observations of the running turn in `form`; the last few steps stay.
pub fn in_running_turn(history: &HistoryManager, form: FormName) -> Option<Batch> {
    let now = history.requests();
    batch(history, form, "compaction: older steps of this turn", |entry| {
        is_result(entry) && now.saturating_sub(entry.arrived_at) > FRESH_STEPS
    })
}

/// Every observation but those of the last step, as a pointer.
pub fn results_but_newest(history: &HistoryManager) -> Option<Batch> {
    let newest = history.entries().iter().map(|entry| entry.arrived_at).max()?;
    batch(history, FormName::Pointer, "trim: tool results", |entry| {
        is_result(entry) && entry.arrived_at < newest
    })
}

/// Where the rounds to archive end: the id of the first entry that stays, keeping `retain` rounds (the running turn
/// counts as one). `None` when there is nothing to archive.
pub fn archive_before(history: &HistoryManager, retain: usize) -> Option<ItemId> {
    let rounds = history.rounds();
    let first_kept = rounds.len().checked_sub(retain.max(1))?;
    if first_kept == 0 {
        return None;
    }
    rounds.get(first_kept).map(|range| history.entries()[range.start].id)
}

fn is_result(entry: &Entry) -> bool {
    matches!(&*entry.item, Item::ToolResult(_))
}

fn batch(
    history: &HistoryManager,
    form: FormName,
    cause: &'static str,
    chosen: impl Fn(&Entry) -> bool,
) -> Option<Batch> {
    let items: Vec<ItemId> = history
        .entries()
        .iter()
        .filter(|entry| !entry.pinned && chosen(entry) && entry.tokens_in(form).is_some())
        .map(|entry| entry.id)
        .collect();
    (!items.is_empty()).then(|| Batch::plain(items, form, cause))
}
