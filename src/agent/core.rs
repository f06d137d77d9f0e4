//! What a turn works with, and the two things that only need to look at it: the next request and the person's message.

use std::sync::Arc;

use super::conversation::Conversation;
use super::dispatch::Dispatcher;
use crate::config::settings::ContextSettings;
use crate::context::builder::{self, Built};
use crate::context::compress::redact;
use crate::context::law::Law;
use crate::context::layer::LayerInputs;
use crate::context::ledger::Ledger;
use crate::context::mention;
use crate::model::item::UserMessage;
use crate::model::request::Params;
use crate::protocol::event::LedgerView;
use crate::provider::api::Provider;
use crate::search::fuzzy;
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

    /// What the person typed, with what belongs behind it.
    pub fn user_message(&self, text: &str, steering: bool) -> UserMessage {
        let root = self.dispatcher.root();
        let mut message = UserMessage::new(&redact::redact(text));
        message.steering = steering;
        let nearest = |wanted: &str| fuzzy::nearest(root, wanted, 1).into_iter().next().map(|(path, _)| path);
        if let Some(reminder) = mention::reminder(text, root, nearest) {
            message.injected.push(reminder.into());
        }
        let ended = self.dispatcher.cx.shell.jobs.take_ended();
        if !ended.is_empty() {
            let text = format!("<system-reminder>Meanwhile {}.</system-reminder>", ended.join("; "));
            message.injected.push(text.into());
        }
        if self.conversation.history.entries().is_empty() {
            message.injected.push(self.surroundings().into());
        }
        message
    }

    /// What a first message says of the machine: dynamic, therefore not in L1.
    fn surroundings(&self) -> String {
        format!(
            "<system-reminder>Workspace: {}. {} {}. Today: {}.</system-reminder>",
            self.dispatcher.root().display(),
            std::env::consts::OS,
            std::env::consts::ARCH,
            jiff::Zoned::now().date()
        )
    }
}
