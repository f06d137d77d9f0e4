//! The original items of a recording as a reference: lines with something that a later call used, and the
//! parts of each reply. A line is genuine if it occurs verbatim in an item; our own text (indexes, digests,
//! pointers) doesn't count.

use std::collections::HashMap;

use super::edits::EditNeeds;
use super::verbatim::{self, Needs};
use crate::trace::recording::events::ReplayEvent;
use base::model::fingerprint::Fingerprint;
use base::model::item::Item;
use base::model::request::Message;
use context::history::forms;

/// Strictness: anywhere in a text, in a genuine line, or in a genuine line of an observation.
pub const ANYWHERE: usize = 0;
pub const GENUINE: usize = 1;
pub const OBSERVED: usize = 2;

/// A line with needs, without indentation.
struct GenuineLine {
    needs: Vec<usize>,
    /// The first request after it occurred; then the same for observations.
    since: usize,
    observed_since: usize,
}

#[derive(Default)]
pub struct SourceTexts {
    pub needs: Needs,
    /// For each need, the first request after an observation showed it.
    pub observed_since: Vec<usize>,
    lines: HashMap<String, GenuineLine>,
    pub replies: Vec<Vec<Fingerprint>>,
    pub edits: EditNeeds,
}

impl SourceTexts {
    pub fn of(events: &[ReplayEvent]) -> Self {
        let needs = Needs::of(events);
        let observed_since = vec![usize::MAX; needs.len()];
        let edits = EditNeeds::of(events);
        let mut originals = Self { needs, observed_since, edits, ..Self::default() };
        for event in events {
            match event {
                ReplayEvent::Request { .. } => originals.replies.push(Vec::new()),
                ReplayEvent::Item(item) => originals.add(item),
            }
        }
        originals
    }

    fn add(&mut self, item: &Item) {
        let n = self.replies.len();
        if let (Item::Assistant { .. } | Item::ToolCall(_), Some(reply)) = (item, self.replies.last_mut()) {
            reply.push(Fingerprint::of(&forms::full(item)));
        }
        let observed_since = if matches!(item, Item::ToolResult(_)) { n } else { usize::MAX };
        for text in verbatim::texts_of_item(item) {
            for line in text.lines().map(str::trim) {
                if let Some(known) = self.lines.get_mut(line) {
                    known.observed_since = known.observed_since.min(observed_since);
                } else {
                    let needs = self.needs.within(line);
                    if needs.is_empty() {
                        continue;
                    }
                    self.lines.insert(line.to_owned(), GenuineLine { needs, since: n, observed_since });
                }
                for need in &self.lines[line].needs {
                    self.observed_since[*need] = self.observed_since[*need].min(observed_since);
                }
            }
        }
    }

    /// The needs in a message of request `n`, each with its strictness.
    fn held(&self, n: usize, message: &Message) -> Vec<(usize, usize)> {
        let mut held = Vec::new();
        for text in verbatim::texts_of(message) {
            held.extend(self.needs.within(&text).into_iter().map(|need| (need, ANYWHERE)));
            let mut in_hunk = false;
            for line in text.lines() {
                // Our diffs quote lines after a sign.
                in_hunk = line.starts_with("@@ -") || in_hunk && line.starts_with(['+', '-', ' ']);
                let quoted = line.strip_prefix(['+', '-']).filter(|_| in_hunk);
                let genuine = [Some(line), quoted]
                    .into_iter()
                    .flatten()
                    .find_map(|line| self.lines.get(line.trim()).filter(|genuine| genuine.since <= n));
                let Some(genuine) = genuine else { continue };
                held.extend(genuine.needs.iter().map(|need| (*need, GENUINE)));
                if genuine.observed_since <= n {
                    held.extend(genuine.needs.iter().map(|need| (*need, OBSERVED)));
                }
            }
        }
        held
    }
}

pub struct NeedView<'a> {
    originals: &'a SourceTexts,
    messages: Vec<Vec<(usize, usize)>>,
    counts: Vec<[u32; 3]>,
}

impl<'a> NeedView<'a> {
    pub fn new(originals: &'a SourceTexts) -> Self {
        Self { originals, messages: Vec::new(), counts: vec![[0; 3]; originals.needs.len()] }
    }

    /// Request `n` shares its first `same` messages with the previous one.
    pub fn update(&mut self, n: usize, messages: &[Message], same: usize) {
        if self.counts.is_empty() {
            return;
        }
        for (need, strictness) in self.messages.drain(same..).flatten() {
            self.counts[need][strictness] -= 1;
        }
        for message in &messages[same..] {
            let held = self.originals.held(n, message);
            for (need, strictness) in &held {
                self.counts[*need][*strictness] += 1;
            }
            self.messages.push(held);
        }
    }

    pub fn holds(&self, need: usize, strictness: usize) -> bool {
        self.counts[need][strictness] > 0
    }
}
