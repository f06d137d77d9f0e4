//! `HistoryManager`: the ordered entries, the running turn, and the only operations that change them. The log
//! keeps everything; this holds what is *sent* of it. No I/O.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::entry::{self, HistoryEntry};
use crate::session::record::{Batch, FormName};
use crate::session::undo_stack::{UndoStack, Undoable};
use base::model::item::{Item, ItemId, Summary};
use base::model::request::Message;
use base::protocol::goal::Goal;

#[derive(Clone, Debug, Default)]
pub struct HistoryManager {
    entries: UndoStack<HistoryEntry>,
    /// Index of the running turn's first entry; `entries.len()` if no turn is running.
    turn_start: usize,
    /// Requests answered so far; entries age by this count.
    requests: u64,
    /// The value of `requests` at the last rewrite of something already sent.
    rewritten_at: u64,
    /// Entries that the last archives removed, newest last, for undo.
    archived: Vec<Vec<HistoryEntry>>,
    /// The newest item of the archives that can no longer be undone.
    beyond_undo: Option<ItemId>,
    goals: UndoStack<(ItemId, Option<Goal>)>,
}

/// A rewind doesn't remove a summary: its id is newer than the items after it.
impl Undoable for HistoryEntry {
    fn goes(&self, to: ItemId) -> bool {
        self.id >= to && !is_summary(self)
    }
}

/// Archives that can be undone; older ones are only in the log.
const UNDOABLE_ARCHIVES: usize = 3;

impl HistoryManager {
    pub fn push(&mut self, id: ItemId, item: Arc<Item>, tokens: Option<u32>) -> &HistoryEntry {
        if item.begins_round() {
            self.turn_start = self.entries.all.len();
        }
        self.entries.all.push(HistoryEntry::new(id, item, tokens, self.requests));
        &self.entries.all[self.entries.all.len() - 1]
    }

    pub fn set_goal(&mut self, at: ItemId, goal: Option<Goal>) {
        self.goals.push(at, goal);
    }

    pub fn goal(&self) -> Option<&Goal> {
        self.goals.all().last().and_then(|(_, goal)| goal.as_ref())
    }

    pub fn ends_on_reminder(&self) -> bool {
        let last = self.entries.all.iter().rev().find_map(|entry| entry.message());
        matches!(last, Some(Message::System(_)))
    }

    /// Whether the model hasn't replied in the running turn yet.
    pub fn at_turn_start(&self) -> bool {
        let running = self.entries.all.get(self.turn_start..).unwrap_or_default();
        let aside =
            |entry: &HistoryEntry| matches!(&*entry.item, Item::User(_) | Item::Reminder(_) | Item::Image(_));
        !running.is_empty() && running.iter().all(aside)
    }

    pub fn end_turn(&mut self) {
        self.turn_start = self.entries.all.len();
    }

    pub fn count_request(&mut self) {
        self.requests += 1;
    }

    /// Requests answered since the last rewrite or the start of the session.
    pub fn requests_since_rewrite(&self) -> u64 {
        self.requests - self.rewritten_at
    }

    pub fn requests(&self) -> u64 {
        self.requests
    }

    pub fn entries(&self) -> &[HistoryEntry] {
        &self.entries.all
    }

    pub fn turn_start(&self) -> usize {
        self.turn_start.min(self.entries.all.len())
    }

    pub fn tokens(&self) -> u64 {
        entry::tokens_of(&self.entries.all)
    }

    pub fn upper_bound(&self) -> u64 {
        entry::upper_bound_of(&self.entries.all)
    }

    /// The rounds as index ranges, oldest first, without what precedes the first user message (a summary).
    pub fn rounds(&self) -> Vec<Range<usize>> {
        let mut starts: Vec<usize> = (0..self.entries.all.len())
            .filter(|&index| self.entries.all[index].item.begins_round())
            .collect();
        starts.push(self.entries.all.len());
        starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// The first entry kept by an archive that keeps the newest `retain` rounds, including the running turn.
    pub fn archive_before(&self, retain: usize) -> Option<ItemId> {
        let rounds = self.rounds();
        let first_kept = rounds.len().checked_sub(retain.max(1)).filter(|first| *first > 0)?;
        rounds.get(first_kept).map(|round| self.entries.all[round.start].id)
    }

    pub fn set_form(&mut self, ids: &[ItemId], form: FormName, texts: &[Arc<str>]) {
        if form != FormName::Filtered {
            self.rewritten_at = self.requests;
        }
        for (number, id) in ids.iter().enumerate() {
            if let Some(index) = self.position(*id) {
                self.entries.all[index].set_form(form, texts.get(number));
            }
        }
    }

    /// `batch` with its texts, so that a version with other wording can replay the log byte for byte.
    pub fn with_texts(&self, batch: &Batch) -> Batch {
        if !batch.texts.is_empty() || matches!(batch.form, FormName::Full | FormName::Gone) {
            return batch.clone();
        }
        let texts = batch.items.iter().filter_map(|id| {
            let mut entry = self.entry(*id)?.clone();
            entry.set_form(batch.form, None).then(|| (*id, Arc::from(entry.text())))
        });
        Batch::with_texts(texts.collect(), batch.form, batch.cause.clone())
    }

    pub fn adopt(&mut self, batch: &Batch) {
        self.set_form(&batch.items, batch.form, &batch.texts);
    }

    pub fn entry(&self, id: ItemId) -> Option<&HistoryEntry> {
        self.position(id).map(|index| &self.entries.all[index])
    }

    /// `id` is the summary's item number. Pinned items stay after it, a result with its call.
    pub fn archive(&mut self, before: ItemId, id: ItemId, summary: Summary) {
        self.rewritten_at = self.requests;
        let cut = self.entries.all.partition_point(|entry| entry.id < before || is_summary(entry));
        let old: Vec<HistoryEntry> = self.entries.all.drain(..cut).collect();
        let pinned = old.iter().filter(|entry| entry.pinned);
        let pinned: HashSet<Arc<str>> = pinned.filter_map(|entry| entry.call_id().cloned()).collect();
        let stays = |entry: &&HistoryEntry| match entry.call_id() {
            Some(call) => pinned.contains(call),
            None => entry.pinned && !is_summary(entry),
        };
        let kept: Vec<HistoryEntry> =
            old.iter().filter(|entry| entry.message().is_some()).filter(stays).cloned().collect();
        self.turn_start = self.turn_start.saturating_sub(cut) + 1 + kept.len();
        let summary = HistoryEntry::new(id, Arc::new(Item::Summary(summary)), None, self.requests);
        self.entries.all.splice(0..0, std::iter::once(summary).chain(kept));
        if self.archived.len() == UNDOABLE_ARCHIVES {
            self.beyond_undo = newest(&self.archived.remove(0)).or(self.beyond_undo);
        }
        self.archived.push(old);
    }

    pub fn unarchive_growth(&self) -> Option<u64> {
        let taken = self.archived.last()?;
        self.entries.all.first().filter(|first| is_summary(first))?;
        let replacement = &self.entries.all[..self.replacement_len(taken)];
        Some(entry::tokens_of(taken).saturating_sub(entry::tokens_of(replacement)))
    }

    /// Undoes the last archive, if any: its entries return in their previous form.
    pub fn unarchive(&mut self) {
        if self.unarchive_growth().is_none() {
            return;
        }
        let Some(taken) = self.archived.pop() else { return };
        let replaced = self.replacement_len(&taken);
        self.turn_start = self.turn_start() - replaced + taken.len();
        self.entries.all.splice(..replaced, taken);
    }

    /// Number of entries that replaced those an archive removed: the summary, and what was pinned.
    fn replacement_len(&self, taken: &[HistoryEntry]) -> usize {
        let newest = newest(taken);
        1 + self.entries.all[1..].iter().take_while(|entry| Some(entry.id) <= newest).count()
    }

    /// Whether the history can go back to `to`: nothing from there on was summarized.
    pub fn reaches(&self, to: ItemId) -> bool {
        let archived =
            self.archived.iter().filter_map(|entries| newest(entries)).chain(self.beyond_undo).max();
        archived.is_none_or(|archived| archived < to)
    }

    /// Whether rewind (or revival) number `rewind`, from 0, can be undone: its replacement wasn't summarized.
    pub fn can_revive(&self, rewind: u32) -> bool {
        self.entries.voided_since(rewind).is_some_and(|to| self.reaches(to))
    }

    pub fn rewind(&mut self, to: ItemId) {
        self.goals.rewind(to);
        self.entries.rewind(to);
        self.end_turn();
    }

    /// Restores the history from before rewind (or revival) number `rewind`, from 0. Can be revived in turn.
    pub fn revive(&mut self, rewind: u32) {
        self.goals.revive(rewind);
        if self.entries.voided_since(rewind).is_some() {
            self.entries.revive(rewind);
            self.end_turn();
        }
    }

    pub fn rewinds(&self) -> u32 {
        self.entries.rewinds()
    }

    /// Pins or unpins an item; a pinned item keeps its form through compaction.
    pub fn pin(&mut self, id: ItemId, pinned: bool) {
        if let Some(index) = self.position(id) {
            self.entries.all[index].pinned = pinned;
        }
    }

    /// Calls without a result, in order; after a crash or an interrupt they must get one.
    pub fn open_calls(&self) -> Vec<Arc<str>> {
        let mut open: Vec<Arc<str>> = Vec::new();
        for entry in &self.entries.all {
            match &*entry.item {
                Item::ToolCall(call) => open.push(Arc::clone(&call.id)),
                Item::ToolResult(result) => open.retain(|id| *id != result.call_id),
                _ => {}
            }
        }
        open
    }

    fn position(&self, id: ItemId) -> Option<usize> {
        // Ids ascend, except for a summary at the front, which is newer than the items after it.
        let (first, rest) = self.entries.all.split_first()?;
        if first.id == id {
            return Some(0);
        }
        rest.binary_search_by_key(&id, |entry| entry.id).ok().map(|index| index + 1)
    }
}

fn newest(entries: &[HistoryEntry]) -> Option<ItemId> {
    entries.iter().filter(|entry| !is_summary(entry)).map(|entry| entry.id).max()
}

fn is_summary(entry: &HistoryEntry) -> bool {
    matches!(&*entry.item, Item::Summary(_))
}
