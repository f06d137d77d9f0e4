//! The last resort to make a request fit: steps folded into one digest, long texts cut, for an endless step
//! only the last results. Each mark names the id by which the model gets the original. Pure.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::batch::Batch;
use super::fold;
use crate::compress::cut;
use crate::history::entry::{self, HistoryEntry};
use crate::history::forms;
use crate::history::manager::HistoryManager;
use crate::session::record::{Cause, CauseKind, FormName};
use crate::tokens::upper_bound::upper_bound;
use base::model::item::{Item, ItemId, LEFT_OUT};
use base::text;

/// Characters a short digest keeps of each agent message, and of each line.
const WORDS_CHARS: usize = 160;
const DIGEST_LINE: usize = 240;
/// Minimum tokens of a digest or a cut text: below this only the mark stays.
const LEAST: u64 = 48;

/// Folds the entries in `range` into digests of about `budget` tokens in total. User text, pinned items with
/// their partners, and whatever `stays` names are left alone.
pub fn fold_range(
    history: &HistoryManager,
    range: Range<usize>,
    budget: u64,
    stays: impl Fn(usize) -> bool,
    cause: &Cause,
) -> Vec<Batch> {
    let entries = history.entries();
    let kept = entry::pinned_calls(entries);
    let is_work = |index: &usize| {
        let entry = &entries[*index];
        !matches!(&*entry.item, Item::User(_) | Item::Summary(_))
            && !entry.pinned
            && !entry.call_id().is_some_and(|id| kept.contains(id))
            && !stays(*index)
    };
    let work: Vec<usize> = range.filter(is_work).collect();
    let runs: Vec<&[usize]> = work.chunk_by(|a, b| a + 1 == *b).collect();
    let share = (budget / runs.len().max(1) as u64).max(LEAST);
    let mut folded: Vec<(ItemId, Arc<str>)> = Vec::new();
    let mut gone: Vec<ItemId> = Vec::new();
    for run in runs {
        let (Some(&first), Some(&last)) = (run.first(), run.last()) else { continue };
        let part = &entries[first..=last];
        let now = entry::upper_bound_of(part);
        // An existing digest that is small enough is kept.
        let digested = part[0].form() == FormName::Folded && part[1..].iter().all(|e| e.message().is_none());
        if now <= LEAST || digested && now <= share {
            continue;
        }
        let digest = shorter(&fold::head(part, WORDS_CHARS), share);
        if u64::from(upper_bound(&digest)) >= now {
            continue;
        }
        folded.push((part[0].id, digest.into()));
        gone.extend(part[1..].iter().filter(|entry| entry.message().is_some()).map(|entry| entry.id));
    }
    if folded.is_empty() {
        return Vec::new();
    }
    let mut batches = vec![Batch::with_texts(folded, FormName::Folded, cause.clone())];
    if !gone.is_empty() {
        batches.push(Batch::plain(gone, FormName::Gone, cause.clone()));
    }
    batches
}

/// Index of the first of the newest `count` steps of the running turn.
pub fn newest_steps(history: &HistoryManager, count: usize) -> usize {
    let entries = history.entries();
    let from = (history.turn_start() + 1).min(entries.len());
    let mut begins: Vec<usize> = Vec::new();
    let mut answering = true;
    for (index, entry) in entries.iter().enumerate().skip(from) {
        match &*entry.item {
            Item::Assistant { .. } | Item::Reasoning(_) | Item::ToolCall(_) => {
                if answering {
                    begins.push(index);
                }
                answering = false;
            }
            _ => answering = true,
        }
    }
    begins.len().checked_sub(count).map_or(from, |at| begins.get(at).copied().unwrap_or(entries.len()))
}

/// If a step has more results than the window can show, keeps the last `count` with their calls.
pub fn last_results(history: &HistoryManager, count: usize, budget: u64) -> Vec<Batch> {
    let entries = history.entries();
    let from = newest_steps(history, 1);
    let results = entries[from..].iter().rev().filter(|entry| matches!(&*entry.item, Item::ToolResult(_)));
    let kept: HashSet<_> = results.take(count).filter_map(HistoryEntry::call_id).collect();
    let stays = |index: usize| entries[index].call_id().is_some_and(|id| kept.contains(id));
    fold_range(history, from..entries.len(), budget, stays, &CauseKind::Trim.because("results of one step"))
}

/// Cuts the longest texts until everything fits into `room` tokens: results, arguments and the agent's words
/// first, user text only if it takes more than half of the room.
pub fn cut_longest(history: &HistoryManager, room: u64) -> Vec<Batch> {
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
    let mut folded: Vec<(ItemId, Arc<str>)> = Vec::new();
    let mut others: Vec<(ItemId, Arc<str>)> = Vec::new();
    for entry in free {
        let most = if is_request(entry) { request_cap } else { work_cap };
        if u64::from(entry.upper_bound()) <= most {
            continue;
        }
        let is_digest = entry.form() == FormName::Folded;
        let short = match &*entry.item {
            // A thought can't be cut: its signature covers all of it.
            Item::Reasoning(_) => continue,
            Item::Image(image) if !is_digest => image.placeholder(LEFT_OUT),
            Item::ToolCall(_) if !is_digest => forms::short_args(entry.id, entry.text(), most),
            _ => ends(entry.id, entry.text(), most),
        };
        // A digest stays one: in another form its text would pass for the arguments of its first call.
        if is_digest { &mut folded } else { &mut others }.push((entry.id, short.into()));
    }
    let mut batches = vec![
        Batch::with_texts(folded, FormName::Folded, CauseKind::Trim.because("long texts")),
        Batch::with_texts(others, FormName::Pointer, CauseKind::Trim.because("long texts")),
    ];
    batches.retain(|batch| !batch.items.is_empty());
    batches
}

/// The largest size to which all can be cut so that together they fit into `room`.
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
    let mark = format!("\n[… Recall {{\"id\":{}}} gives all …]\n", id.0);
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

/// A digest cut to about `most` tokens: the oldest of each kind of line goes first.
fn shorter(digest: &str, most: u64) -> String {
    let lines: Vec<String> = digest.lines().map(|line| text::elide(line, DIGEST_LINE)).collect();
    let sizes: Vec<u64> = lines.iter().map(|line| u64::from(upper_bound(line)) + 1).collect();
    let mut total: u64 = sizes.iter().sum::<u64>() + 8;
    let head = lines.iter().position(|line| line.starts_with("[Earlier steps")).unwrap_or(0);
    let mut dropped = 0;
    let mut keep = vec![true; lines.len()];
    // Words go before actions, and the list of files goes last.
    let ran = lines.iter().position(|line| line == "ran:").unwrap_or(lines.len());
    let order = (0..head).chain(ran + 1..lines.len()).chain(head + 2..ran);
    for index in order {
        if total <= most {
            break;
        }
        total -= sizes[index];
        keep[index] = false;
        dropped += 1;
    }
    let mut out: Vec<&str> =
        lines.iter().zip(&keep).filter(|(_, kept)| **kept).map(|(line, _)| line.as_str()).collect();
    let note = format!("[{} more]", text::plural(dropped, "line"));
    if dropped > 0 {
        out.push(&note);
    }
    out.join("\n")
}
