//! The layers of a request: pure functions that each render one fragment. Slow work (reading files, retrieval) is done
//! earlier, so building a request never blocks. Volatile text never precedes stable bytes.

use std::sync::Arc;

use super::ledger::{LayerId, LedgerEntry, Subject};
use super::parts::{FixedPart, FixedParts};
use crate::history::entry::HistoryEntry;
use crate::history::manager::HistoryManager;
use base::model::fingerprint::Fingerprint;
use base::model::item::{Item, ReminderTopic};
use base::model::request::{Block, Message};

/// In wire order.
pub const LAYERS: [fn(&LayerInputs<'_>) -> Fragment; 5] = [system, rules, past, question, scratchpad];

pub struct LayerInputs<'a> {
    pub parts: &'a FixedParts,
    pub history: &'a HistoryManager,
}

/// One message with its ledger row, kept together so that every message is accounted for.
#[derive(Clone, Debug)]
pub struct FragmentMessage {
    pub message: Message,
    pub fingerprint: Fingerprint,
    pub row: LedgerEntry,
}

#[derive(Debug, Default)]
pub struct Fragment {
    pub system: Option<(Block, Fingerprint)>,
    pub messages: Vec<FragmentMessage>,
    pub rows: Vec<LedgerEntry>,
}

impl Fragment {
    fn of_system(layer: LayerId, name: &'static str, part: &FixedPart) -> Self {
        let block = Block { text: Arc::clone(&part.content) };
        let rows = vec![LedgerEntry::fixed(layer, name, part)];
        Self { system: Some((block, part.fingerprint)), rows, ..Self::default() }
    }

    fn of_entries(layer: LayerId, entries: Option<&[HistoryEntry]>) -> Self {
        let message = |entry: &HistoryEntry| {
            let layer = match &*entry.item {
                Item::Reminder(one) if layer == LayerId::Scratchpad && one.about == ReminderTopic::Todos => {
                    LayerId::Todo
                }
                _ => layer,
            };
            let (subject, pinned) = (Subject::Item(entry.id), entry.pinned);
            let row = LedgerEntry { subject, layer, tokens: entry.tokens(), form: entry.form(), pinned };
            let message = entry.message()?.clone();
            Some(FragmentMessage { message, fingerprint: entry.fingerprint(), row })
        };
        let messages = entries.unwrap_or_default().iter().filter_map(message).collect();
        Self { messages, ..Self::default() }
    }
}

/// L1: the system prompt and the tool schemas. Schemas travel outside the messages, so only their rows are here.
fn system(inputs: &LayerInputs<'_>) -> Fragment {
    let (system, schemas) = (&inputs.parts.system, &inputs.parts.schemas);
    let mut fragment = Fragment::of_system(LayerId::System, "system prompt", system);
    if !schemas.content.is_empty() {
        fragment.rows.push(LedgerEntry::fixed(LayerId::System, "tool schemas", schemas));
    }
    fragment
}

/// L2: the project's rules, second block of the system prompt. Never trimmed; changes only when the files change.
fn rules(inputs: &LayerInputs<'_>) -> Fragment {
    let rules = inputs.parts.rules.as_ref();
    rules.map(|part| Fragment::of_system(LayerId::Rules, "rules of the project", part)).unwrap_or_default()
}

/// L3: the summary and the past rounds. An item keeps its bytes when it moves between layers, so the prefix stays stable.
fn past(inputs: &LayerInputs<'_>) -> Fragment {
    let turn_start = inputs.history.turn_start();
    Fragment::of_entries(LayerId::History, inputs.history.entries().get(..turn_start))
}

/// L4: the message that the running turn answers.
fn question(inputs: &LayerInputs<'_>) -> Fragment {
    let turn_start = inputs.history.turn_start();
    Fragment::of_entries(LayerId::Question, inputs.history.entries().get(turn_start..=turn_start))
}

/// L6: the running turn so far, with the todo recap (L5) after results that changed the list.
fn scratchpad(inputs: &LayerInputs<'_>) -> Fragment {
    let turn_start = inputs.history.turn_start();
    Fragment::of_entries(LayerId::Scratchpad, inputs.history.entries().get(turn_start + 1..))
}
