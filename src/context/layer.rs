//! What a layer is: a pure, synchronous view of the inputs that renders one fragment of the request. Slow work (reading
//! files, retrieval) is done before, so that building a request can never block.

use std::sync::Arc;

use super::history::entry::Entry;
use super::history::manager::HistoryManager;
use super::ledger::{LayerId, Row, Subject};
use crate::model::call::ToolSpec;
use crate::model::request::{Block, Message};

/// Everything that a request is made of.
pub struct LayerInputs<'a> {
    /// The system prompt; byte-stable within a session.
    pub system: &'a Arc<str>,
    pub tools: &'a Arc<[ToolSpec]>,
    /// Tokens of the system prompt and of the tool schemas, counted once a session.
    pub system_tokens: u32,
    pub tools_tokens: u32,
    /// The project's rules, rendered.
    pub law: Option<&'a Arc<str>>,
    pub law_tokens: u32,
    pub history: &'a HistoryManager,
    pub todo_recap: Option<&'a str>,
}

/// What a layer contributes.
#[derive(Debug, Default)]
pub struct Fragment {
    pub system: Option<Block>,
    pub messages: Vec<Message>,
    pub rows: Vec<Row>,
}

impl Fragment {
    /// The fragment of consecutive history entries; `None` when there are none.
    pub fn of_entries(layer: LayerId, entries: &[Entry]) -> Option<Self> {
        if entries.is_empty() {
            return None;
        }
        Some(Self {
            system: None,
            messages: entries.iter().filter_map(|entry| entry.message().cloned()).collect(),
            rows: entries
                .iter()
                .filter(|entry| entry.message().is_some())
                .map(|entry| Row {
                    subject: Subject::Item(entry.id),
                    layer,
                    tokens: entry.tokens(),
                    form: entry.form(),
                    pinned: entry.pinned,
                })
                .collect(),
        })
    }
}

/// One layer. The list of them, in wire order, is `catalog`.
pub trait Layer: Sync {
    fn id(&self) -> LayerId;
    /// `None` when the layer has nothing to say.
    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment>;
}
