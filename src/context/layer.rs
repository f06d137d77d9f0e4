//! A layer: a pure function that renders one fragment of the request. Slow work (reading files, retrieval) is
//! done earlier, so building a request never blocks.

use std::sync::Arc;

use super::ledger::{LayerId, LedgerEntry, Subject};
use super::parts::{FixedPart, FixedParts};
use crate::history::entry::HistoryEntry;
use crate::history::manager::HistoryManager;
use base::model::fingerprint::Fingerprint;
use base::model::item::{Item, ReminderTopic};
use base::model::request::{Block, Message};

pub struct LayerInputs<'a> {
    pub parts: &'a FixedParts,
    pub history: &'a HistoryManager,
}

/// One message with its ledger row; they travel together so that neither exists without the other.
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
    pub fn of_system(layer: LayerId, name: &'static str, part: &FixedPart) -> Self {
        let block = Block { text: Arc::clone(&part.content) };
        Self {
            system: Some((block, part.fingerprint)),
            rows: vec![LedgerEntry::fixed(layer, name, part)],
            ..Self::default()
        }
    }

    pub fn of_entries(layer: LayerId, entries: &[HistoryEntry]) -> Option<Self> {
        if entries.is_empty() {
            return None;
        }
        let messages = entries
            .iter()
            .filter_map(|entry| {
                Some(FragmentMessage {
                    message: entry.message()?.clone(),
                    fingerprint: entry.fingerprint(),
                    row: LedgerEntry {
                        subject: Subject::Item(entry.id),
                        layer: if layer == LayerId::Scratchpad && is_recap(&entry.item) {
                            LayerId::Todo
                        } else {
                            layer
                        },
                        tokens: entry.tokens(),
                        form: entry.form(),
                        pinned: entry.pinned,
                    },
                })
            })
            .collect();
        Some(Self { messages, ..Self::default() })
    }
}

fn is_recap(item: &Item) -> bool {
    matches!(item, Item::Reminder(reminder) if reminder.about == ReminderTopic::Todos)
}

/// Returns `None` for an empty layer. `catalog` lists the layers in wire order.
pub type Layer = fn(&LayerInputs<'_>) -> Option<Fragment>;
