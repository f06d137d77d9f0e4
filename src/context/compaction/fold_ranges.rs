//! Which runs of steps may be folded into one digest: the work of finished turns that lie far enough back, and steps of
//! the running turn that are old. What the user said and a turn's closing answer are never part of one, and no call is
//! parted from its result. Pure.

use std::ops::Range;

use crate::context::compaction::profile::Thresholds;
use crate::context::history::entry::Entry;
use crate::context::history::manager::HistoryManager;
use crate::model::item::Item;
use crate::session::record::FormName;

/// A run of entries that one digest can stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldRange {
    pub range: Range<usize>,
    /// For how many requests it could have been folded already.
    pub overdue: u64,
}

/// The segments, oldest first. What is folded already is left out.
pub fn foldable(history: &HistoryManager, limits: &Thresholds) -> Vec<FoldRange> {
    let entries = history.entries();
    let now = history.requests();
    let rounds = history.rounds();
    let mut found = Vec::new();
    for (number, round) in rounds.iter().enumerate() {
        // The running turn and the `fold_turns` before it keep their steps, unless these are old.
        let later = rounds.len() - 1 - number;
        let finished_long_ago = later > limits.fold_turns;
        let closing = if later > 0 { closing_answer(entries, round) } else { round.end };
        let mut start = None;
        let mut open = 0usize;
        // Behind which entry the run may end: no call there waits for its result.
        let mut end = round.start;
        for index in round.start..round.end {
            let entry = &entries[index];
            let stays = matches!(&*entry.item, Item::User(_) | Item::Summary(_))
                || matches!(entry.form(), FormName::Folded | FormName::Gone)
                || index >= closing
                || !(finished_long_ago || now.saturating_sub(entry.arrived_at) >= limits.fold_steps);
            if stays {
                push(&mut found, entries, start.take(), end, now, limits);
                open = 0;
                if index >= closing {
                    break;
                }
                continue;
            }
            start.get_or_insert(index);
            match &*entry.item {
                Item::ToolCall(_) => open += 1,
                Item::ToolResult(_) => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 {
                end = index + 1;
            }
        }
        push(&mut found, entries, start, end, now, limits);
    }
    found
}

fn push(
    found: &mut Vec<FoldRange>,
    entries: &[Entry],
    start: Option<usize>,
    end: usize,
    now: u64,
    limits: &Thresholds,
) {
    let Some(start) = start else { return };
    let works = |entry: &Entry| matches!(&*entry.item, Item::ToolResult(_));
    if end <= start || !entries[start..end].iter().any(works) {
        return;
    }
    let age = now.saturating_sub(entries[end - 1].arrived_at);
    found.push(FoldRange { range: start..end, overdue: age.saturating_sub(limits.fresh) });
}

/// Index of the last thing the agent said in a round, if nothing was called behind it; else the round's end.
fn closing_answer(entries: &[Entry], round: &Range<usize>) -> usize {
    let mut at = round.end;
    while at > round.start && matches!(&*entries[at - 1].item, Item::Assistant { .. }) {
        at -= 1;
    }
    at
}

/// About how many tokens the digest of `part` will take.
pub fn digest_estimate(part: &[Entry], limits: &Thresholds) -> u64 {
    let said_tokens = u32::try_from(limits.said_chars / 4).unwrap_or(u32::MAX);
    let sum: u32 = part
        .iter()
        .map(|entry| match &*entry.item {
            Item::Assistant { .. } => entry.tokens().min(said_tokens),
            Item::ToolCall(_) => entry.tokens().min(45),
            _ => 0,
        })
        .sum();
    u64::from(sum) + 60 + names_budget(part, limits) * 2 / 3
}

/// Tokens for the index of names in the digest of `part`.
pub fn names_budget(part: &[Entry], limits: &Thresholds) -> u64 {
    let tokens: u64 = part.iter().map(|entry| u64::from(entry.tokens())).sum();
    (tokens as f64 * limits.names_share) as u64
}
