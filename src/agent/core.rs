//! What a turn works with, and what only needs to look at it: the next request and its ledger.

use std::sync::Arc;

use super::conversation::Conversation;
use super::dispatch::Dispatcher;
use crate::config::settings::ContextSettings;
use crate::context::builder::{self, Built};
use crate::context::law::Law;
use crate::context::layer::LayerInputs;
use crate::context::ledger::Ledger;
use crate::model::request::Params;
use crate::protocol::event::LedgerView;
use crate::provider::api::Provider;
use crate::tool::plan::todo_board;

/// Everything that a turn works with.
pub struct Core {
    pub conversation: Conversation,
    pub provider: Arc<dyn Provider>,
    pub params: Params,
    pub light_model: Option<Arc<str>>,
    pub context: ContextSettings,
    pub law: Law,
    pub dispatcher: Dispatcher,
    pub max_steps: u32,
    /// Whether notes that belong to a new task are put behind its text.
    pub inject_notes: bool,
    pub system: Arc<str>,
    pub system_tokens: u32,
    pub tools_tokens: u32,
    pub summary_failures: u32,
    pub last_estimate: u64,
    /// What the person typed for the running turn, word for word, to give it back when the turn comes to nothing.
    pub typed: Vec<String>,
}

impl Core {
    /// The next request and its ledger.
    pub fn build(&self) -> Built {
        let recap = todo_board::recap(&self.dispatcher.cx.todos.get());
        let inputs = LayerInputs {
            system: &self.system,
            tools: self.dispatcher.specs(),
            system_tokens: self.system_tokens,
            tools_tokens: self.tools_tokens,
            law: self.law.text(),
            law_tokens: self.law.tokens(),
            history: &self.conversation.history,
            todo_recap: recap.as_deref(),
        };
        builder::build(&inputs, &self.params)
    }

    /// The ledger as people see it.
    pub fn ledger_view(&self, ledger: &Ledger) -> LedgerView {
        ledger.view(&self.conversation.history, &self.context, &self.conversation.calibration)
    }
}
