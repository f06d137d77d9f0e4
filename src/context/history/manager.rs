//! `HistoryManager`: the ordered entries, the running turn, and the only operations that change them. The log keeps
//! everything for ever; this is what is *sent* of it. Each operation keeps a running token sum, so that no request
//! counts anything twice. Does no input or output.

use std::ops::Range;
use std::sync::Arc;

use super::batch::Batch;
use super::entry::Entry;
use crate::model::item::{Item, ItemId, Summary};
use crate::session::record::FormName;

/// What the agent remembers.
#[derive(Clone, Debug, Default)]
pub struct HistoryManager {
    entries: Vec<Entry>,
    tokens: u64,
    /// Index of the running turn's first entry; `entries.len()` when no turn runs.
    turn_start: usize,
    /// Requests answered so far; the clock by which entries age.
    requests: u64,
}

impl HistoryManager {
    /// Adds an item. A user message that begins a round begins the running turn.
    pub fn push(&mut self, id: ItemId, item: Arc<Item>, tokens: Option<u32>) -> &Entry {
        if item.begins_round() {
            self.turn_start = self.entries.len();
        }
        let entry = Entry::new(id, item, tokens, self.requests);
        self.tokens += u64::from(entry.tokens());
        self.entries.push(entry);
        &self.entries[self.entries.len() - 1]
    }

    /// The running turn has ended: its items are history now.
    pub fn end_turn(&mut self) {
        self.turn_start = self.entries.len();
    }

    /// One more request was answered.
    pub fn count_request(&mut self) {
        self.requests += 1;
    }

    /// Requests answered so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Index of the first entry of the running turn (its user message).
    pub fn turn_start(&self) -> usize {
        self.turn_start.min(self.entries.len())
    }

    /// Estimated tokens of all entries as sent.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The most tokens that all entries as sent may take; each one's figure is counted once for each form.
    pub fn ceiling(&self) -> u64 {
        self.entries.iter().map(|entry| u64::from(entry.ceiling())).sum()
    }

    /// The rounds, oldest first, as index ranges; what precedes the first user message (a summary) is in none.
    pub fn rounds(&self) -> Vec<Range<usize>> {
        let mut starts: Vec<usize> =
            (0..self.entries.len()).filter(|&index| self.entries[index].item.begins_round()).collect();
        starts.push(self.entries.len());
        starts.windows(2).map(|pair| pair[0]..pair[1]).collect()
    }

    /// Sends these items in `form` from now on, with these texts where the form needs them; returns how many tokens that
    /// saved (0 when nothing changed).
    pub fn set_form(&mut self, ids: &[ItemId], form: FormName, texts: &[Arc<str>]) -> u64 {
        let before = self.tokens;
        for (number, id) in ids.iter().enumerate() {
            if let Some(index) = self.position(*id) {
                let entry = &mut self.entries[index];
                self.tokens -= u64::from(entry.tokens());
                entry.set_form(form, texts.get(number));
                self.tokens += u64::from(entry.tokens());
            }
        }
        before.saturating_sub(self.tokens)
    }

    /// Takes up a batch; returns the tokens saved.
    pub fn adopt(&mut self, batch: &Batch) -> u64 {
        self.set_form(&batch.items, batch.form, &batch.texts)
    }

    /// The entry of an item.
    pub fn entry(&self, id: ItemId) -> Option<&Entry> {
        self.position(id).map(|index| &self.entries[index])
    }

    /// Replaces everything before `before` by the summary, which takes the number `id`.
    pub fn archive(&mut self, before: ItemId, id: ItemId, summary: Summary) {
        let cut = self.entries.partition_point(|entry| entry.id < before || is_summary(entry));
        let turn_start = self.turn_start().saturating_sub(cut) + 1;
        self.entries.drain(..cut);
        self.entries.insert(0, Entry::new(id, Arc::new(Item::Summary(summary)), None, self.requests));
        self.turn_start = turn_start;
        self.recount();
    }

    /// Takes back everything from `to` on.
    pub fn rewind(&mut self, to: ItemId) {
        self.entries.retain(|entry| entry.id < to || is_summary(entry));
        self.turn_start = self.entries.len();
        self.recount();
    }

    /// Pins or unpins an item: a pinned one keeps its form through compaction.
    pub fn pin(&mut self, id: ItemId, pinned: bool) -> bool {
        match self.position(id) {
            Some(index) => {
                self.entries[index].pinned = pinned;
                true
            }
            None => false,
        }
    }

    /// Calls of the history that have no result, in order: after a crash or an interrupt they must get one.
    pub fn open_calls(&self) -> Vec<Arc<str>> {
        let mut open: Vec<Arc<str>> = Vec::new();
        for entry in &self.entries {
            match &*entry.item {
                Item::ToolCall(call) => open.push(Arc::clone(&call.id)),
                Item::ToolResult(result) => open.retain(|id| *id != result.call_id),
                _ => {}
            }
        }
        open
    }

    fn position(&self, id: ItemId) -> Option<usize> {
        // Ids ascend except for a summary at the front, which is younger than what follows it.
        if self.entries.first().is_some_and(|first| first.id == id) {
            return Some(0);
        }
        let start = usize::from(self.entries.first().is_some_and(is_summary));
        self.entries[start..].binary_search_by_key(&id, |entry| entry.id).ok().map(|index| index + start)
    }

    fn recount(&mut self) {
        self.tokens = self.entries.iter().map(|entry| u64::from(entry.tokens())).sum();
    }
}

fn is_summary(entry: &Entry) -> bool {
    matches!(&*entry.item, Item::Summary(_))
}
