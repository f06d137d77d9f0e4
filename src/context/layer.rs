//! What a layer is: a pure, synchronous view of the inputs that renders one fragment of the request. Slow work (reading
//! files, retrieval) is done before, so that building a request can never block.

use std::sync::Arc;

use super::history::manager::HistoryManager;
use super::ledger::Row;
use crate::model::call::ToolSpec;
use crate::model::request::{Block, Message};

/// The layers' names, L1–L6 (SPEC §1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerId {
    System,
    Law,
    History,
    Question,
    Todo,
    Scratchpad,
}

impl LayerId {
    /// `L1` … `L6`.
    pub fn label(self) -> &'static str {
        match self {
            Self::System => "L1",
            Self::Law => "L2",
            Self::History => "L3",
            Self::Question => "L4",
            Self::Todo => "L5",
            Self::Scratchpad => "L6",
        }
    }
}

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

/// One layer. The list of them, in wire order, is `catalog`.
pub trait Layer: Sync {
    fn id(&self) -> LayerId;
    /// `None` when the layer has nothing to say.
    fn render(&self, inputs: &LayerInputs<'_>) -> Option<Fragment>;
}
