//! What a turn works with, and what only needs to look at it: the next request and its ledger.

use std::sync::Arc;
use std::time::Duration;

use crate::agent::calls::dispatcher::Dispatcher;
use crate::agent::session::conversation::Conversation;
use crate::agent::window::summary_task::SummaryTasks;
use crate::agent::window::token_counter::TokenCounter;
use crate::config::settings::{ContextSettings, SMALL_WINDOW_TOKENS};
use crate::context::builder::{self, Built};
use crate::context::layer::LayerInputs;
use crate::context::layers::l5_todo;
use crate::context::ledger::Ledger;
use crate::context::parts::{FixedPart, FixedParts, Schemas};
use crate::context::project_rules::ProjectRules;
use crate::model::request::Params;
use crate::protocol::ledger::LedgerView;
use crate::provider::api::Provider;
use crate::tool::plan::todo_board;

/// Everything that a turn works with.
pub struct Core {
    pub conversation: Conversation,
    pub provider: Arc<dyn Provider>,
    pub params: Params,
    pub light_model: Option<Arc<str>>,
    pub context: ContextSettings,
    pub law: ProjectRules,
    pub dispatcher: Dispatcher,
    pub max_steps: u32,
    /// Whether notes that belong to a new task are put behind its text.
    pub inject_notes: bool,
    pub system: FixedPart,
    pub schemas: Schemas,
    /// The most that system prompt and schemas may take, with the frame that dialects put around a schema.
    pub fixed_ceiling: u32,
    pub archivist: SummaryTasks,
    pub last_estimate: u64,
    /// What of the last request's size the model's tokenizer has counted.
    pub last_counted: u64,
    /// Runs from the first request on where the model's tokenizer is public.
    pub counter: Option<TokenCounter>,
    /// What the user typed for the running turn, word for word, to give it back when the turn comes to nothing.
    pub typed: Vec<String>,
    /// What the model must be told with the next message: files that went back behind its back.
    pub reminder: Option<String>,
    /// How long the files of a new task may be looked for; `None` when that is switched off.
    pub task_context: Option<Duration>,
}

impl Core {
    /// What is sent beside the history, as it is now.
    pub fn parts(&self) -> FixedParts {
        let recap = todo_board::recap(&self.dispatcher.cx.todos.get());
        FixedParts {
            system: self.system.clone(),
            schemas: self.schemas.clone(),
            rules: self.law.part().cloned(),
            recap: recap.map(|recap| FixedPart::new(l5_todo::reminder(&recap).into())),
            params: self.params(),
        }
    }

    /// The next request and its ledger.
    pub fn build(&self) -> Built {
        builder::build(&LayerInputs { parts: &self.parts(), history: &self.conversation.history })
    }

    /// What is asked of the model, with as much room for the answer as there is.
    fn params(&self) -> Params {
        let mut params = self.params.clone();
        // Servers refuse a request whose answer could not fit behind it.
        let free = u32::try_from(self.free()).unwrap_or(u32::MAX).max(256);
        // In a small window the limit is always said: an answer without end would run over it.
        let small = self.context.window_tokens < SMALL_WINDOW_TOKENS;
        let limit = params.max_output_tokens.or(small.then_some(free));
        params.max_output_tokens = limit.map(|limit| limit.min(free));
        params
    }

    /// The window is another one than before: what may take a share of it follows.
    pub fn window_changed(&mut self) {
        let window = self.context.window_tokens;
        self.dispatcher.set_window(window);
        self.law.limit_to(u32::try_from(window / 4).unwrap_or(u32::MAX));
    }

    /// The ledger as users see it.
    pub fn ledger_view(&self, ledger: &Ledger) -> LedgerView {
        let conversation = &self.conversation;
        let breaks = conversation.prefix.sums();
        ledger.view(&conversation.history, &self.context, &conversation.calibration, breaks)
    }
}
