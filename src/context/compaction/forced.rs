//! The hard measures that make a request fit when nothing gentler does: steps folded into one short digest, long texts cut
//! to their ends, and of an endless step only the last results. Nothing is lost: each mark opens the original, and the log
//! keeps all. Pure; what is planned is logged with its text.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::batch::Batch;
use crate::base::text;
use crate::context::compaction::fold;
use crate::context::history::entry::Entry;
use crate::context::history::forms;
use crate::context::history::manager::HistoryManager;
use crate::context::tokens::upper_bound::ceiling;
use crate::model::item::{Item, ItemId};
use crate::session::record::FormName;

/// Characters that a short digest keeps of each thing the agent said, and of one of its lines.
const SAID_CHARS: usize = 160;
const DIGEST_LINE: usize = 240;
/// The least a digest and a cut text take, in tokens: under this only the mark stays.
const LEAST: u64 = 48;

/// Folds what the entries in `range` did into digests of at most about `budget` tokens in all. What the user said, pinned
/// items with their partners, and what `stays` names are left alone.
pub fn fold_range(
    history: &HistoryManager,
    range: Range<usize>,
    budget: u64,
    stays: impl Fn(usize) -> bool,
    cause: &str,
) -> Vec<Batch> {
    let entries = history.entries();
    let kept = pinned_calls(entries);
    let is_work = |index: &usize| {
        let entry = &entries[*index];
        !matches!(&*entry.item, Item::User(_) | Item::Summary(_))
            && !entry.pinned
            && !call_id(entry).is_some_and(|id| kept.contains(id))
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
        let now: u64 = part.iter().map(|entry| u64::from(entry.ceiling())).sum();
        // A digest that stands already and is small enough need not be told anew.
        let told = part[0].form() == FormName::Folded && part[1..].iter().all(|e| e.message().is_none());
        if now <= LEAST || told && now <= share {
            continue;
        }
        let digest = shorter(&fold::digest(part, &HashSet::new(), SAID_CHARS, 0), share);
        if u64::from(ceiling(&digest)) >= now {
            continue;
        }
        folded.push((part[0].id, digest.into()));
        gone.extend(part[1..].iter().filter(|entry| entry.message().is_some()).map(|entry| entry.id));
    }
    if folded.is_empty() {
        return Vec::new();
    }
    let mut batches = vec![Batch::with_texts(folded, FormName::Folded, cause.to_owned())];
    if !gone.is_empty() {
        batches.push(Batch::plain(gone, FormName::Gone, cause.to_owned()));
    }
    batches
}

/// Index at which the newest `count` steps of the running turn begin.
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

/// Of a step with more results than the window can show, the last `count` stay with their calls.
pub fn last_results(history: &HistoryManager, count: usize, budget: u64) -> Vec<Batch> {
    let entries = history.entries();
    let from = newest_steps(history, 1);
    let results = entries[from..].iter().rev().filter(|entry| matches!(&*entry.item, Item::ToolResult(_)));
    let kept: HashSet<&str> = results.take(count).filter_map(call_id).collect();
    let stays = |index: usize| call_id(&entries[index]).is_some_and(|id| kept.contains(id));
    fold_range(history, from..entries.len(), budget, stays, "trim: results of one step")
}

/// Cuts what is longest until everything is within `room` tokens: results, arguments and the agent's words first, what the
/// person said only when it takes more than half of the room.
pub fn cut_longest(history: &HistoryManager, room: u64) -> Vec<Batch> {
    let entries = history.entries();
    let is_request = |entry: &Entry| matches!(&*entry.item, Item::User(_));
    let sizes = |request: bool| -> Vec<u64> {
        entries
            .iter()
            .filter(|entry| is_request(entry) == request && !entry.pinned)
            .map(|entry| u64::from(entry.ceiling()))
            .collect()
    };
    let pinned: u64 = entries.iter().filter(|e| e.pinned).map(|entry| u64::from(entry.ceiling())).sum();
    let room = room.saturating_sub(pinned);
    let (said, work) = (sizes(true), sizes(false));
    let said_all: u64 = said.iter().sum();
    let work_room = room.saturating_sub(said_all).max(room / 2);
    let work_cap = cap(&work, work_room);
    let work_takes: u64 = work.iter().map(|size| (*size).min(work_cap)).sum();
    let said_cap = cap(&said, room.saturating_sub(work_takes));
    let mut cut: Vec<(ItemId, Arc<str>)> = Vec::new();
    for entry in entries.iter().filter(|entry| !entry.pinned) {
        let most = if is_request(entry) { said_cap } else { work_cap };
        if u64::from(entry.ceiling()) <= most {
            continue;
        }
        let short = match &*entry.item {
            // A thought cannot be cut: its signature covers all of it.
            Item::Reasoning(_) => continue,
            Item::ToolCall(_) if entry.form() != FormName::Folded => {
                forms::short_args(entry.id, entry.text(), most)
            }
            _ => ends(entry.id, entry.text(), most),
        };
        cut.push((entry.id, short.into()));
    }
    let mut batches = Vec::new();
    // A digest stays a digest: in another form the text would be taken for the arguments of its first call.
    let (folded, plain): (Vec<_>, Vec<_>) = cut
        .into_iter()
        .partition(|(id, _)| history.entry(*id).is_some_and(|entry| entry.form() == FormName::Folded));
    if !folded.is_empty() {
        batches.push(Batch::with_texts(folded, FormName::Folded, "trim: long texts"));
    }
    if !plain.is_empty() {
        batches.push(Batch::with_texts(plain, FormName::Pointer, "trim: long texts"));
    }
    batches
}

/// The largest size to which all can be cut so that together they take at most `room`.
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

/// Beginning and end of `whole` in at most about `most` tokens, with a mark that opens the original.
pub fn ends(id: ItemId, whole: &str, most: u64) -> String {
    let mark = format!("\n[… Recall {{\"id\":{}}} gives all …]\n", id.0);
    let most = most.saturating_sub(u64::from(ceiling(&mark)) + 8);
    let now = u64::from(ceiling(whole)).max(1);
    let mut room = usize::try_from(whole.len() as u64 * most / now).unwrap_or(usize::MAX).min(whole.len());
    while room >= 16 {
        let head = text::floor_boundary(whole, room * 2 / 3);
        let tail = text::ceil_boundary(whole, whole.len() - room / 3).max(head);
        if u64::from(ceiling(&whole[..head])) + u64::from(ceiling(&whole[tail..])) <= most {
            return format!("{}{mark}{}", &whole[..head], &whole[tail..]);
        }
        room = room * 3 / 4;
    }
    mark.trim().to_owned()
}

/// A digest cut to about `most` tokens: the oldest of each kind of line goes first.
fn shorter(digest: &str, most: u64) -> String {
    let lines: Vec<String> = digest.lines().map(|line| text::elide(line, DIGEST_LINE)).collect();
    let sizes: Vec<u64> = lines.iter().map(|line| u64::from(ceiling(line)) + 1).collect();
    let mut total: u64 = sizes.iter().sum::<u64>() + 8;
    let head = lines.iter().position(|line| line.starts_with("[Earlier steps")).unwrap_or(0);
    let mut dropped = 0;
    let mut keep = vec![true; lines.len()];
    // What was said goes before what was done, and the list of files last.
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

/// The ids of calls that are pinned, or whose result is.
fn pinned_calls(entries: &[Entry]) -> HashSet<&str> {
    entries.iter().filter(|entry| entry.pinned).filter_map(call_id).collect()
}

fn call_id(entry: &Entry) -> Option<&str> {
    match &*entry.item {
        Item::ToolCall(call) => Some(&call.id),
        Item::ToolResult(result) => Some(&result.call_id),
        _ => None,
    }
}
