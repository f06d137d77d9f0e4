//! What is sent beside the history: system prompt, tool schemas, project rules, todo recap; and how large that is.

use std::path::Path;
use std::sync::Arc;

use super::token_counter::TokenCounter;
use crate::context::layers::l5_todo;
use crate::context::parts::{FixedPart, FixedParts, Schemas};
use crate::context::project_rules::ProjectRules;
use crate::context::tokens::request_size::Countable as _;
use crate::model::call::ToolSpec;
use crate::model::request::Params;
use crate::tool::plan::todo_board::{self, TodoBoard};

/// What the todo recap is taken to need, in tokens.
const RECAP_TOKENS: u64 = 90;

/// The fixed parts of a session's requests. System prompt and schemas never change.
pub struct FixedPrompt {
    system: FixedPart,
    schemas: Schemas,
    pub rules: ProjectRules,
    todos: Arc<TodoBoard>,
    /// The most that system prompt and schemas may take, with the frame that dialects put around a schema.
    upper_bound: u32,
}

impl FixedPrompt {
    pub fn new(system: Arc<str>, specs: &Arc<[ToolSpec]>, todos: Arc<TodoBoard>) -> Self {
        let (system, schemas) = (FixedPart::new(system), Schemas::new(Arc::clone(specs)));
        Self {
            upper_bound: system.content.upper_bound() + schemas.content.upper_bound(),
            system,
            schemas,
            rules: ProjectRules::default(),
            todos,
        }
    }

    /// The parts as they are sent now.
    pub fn parts(&self, params: Params) -> FixedParts {
        let recap = todo_board::recap(&self.todos.get());
        FixedParts {
            system: self.system.clone(),
            schemas: self.schemas.clone(),
            rules: self.rules.part().cloned(),
            recap: recap.map(|recap| FixedPart::new(l5_todo::reminder(&recap).into())),
            params,
        }
    }

    /// Tokens, as far as they are known.
    pub fn tokens(&self) -> u64 {
        u64::from(self.system.tokens)
            + u64::from(self.schemas.tokens)
            + u64::from(self.rules.tokens())
            + RECAP_TOKENS
    }

    /// The most tokens that it may take.
    pub fn upper_bound(&self) -> u64 {
        u64::from(self.upper_bound) + u64::from(self.rules.tokens()) * 5 / 4 + RECAP_TOKENS
    }

    /// Tokens of the texts, and how many of them are exact.
    pub fn counted(&self) -> (u64, u64) {
        let rules = self.rules.part().map(|rules| (rules.tokens, rules.counted));
        let fixed = [(self.system.tokens, self.system.counted), (self.schemas.tokens, self.schemas.counted)];
        fixed.into_iter().chain(rules).fold((0, 0), |(total, exact), (tokens, counted)| {
            (total + u64::from(tokens), exact + if counted { u64::from(tokens) } else { 0 })
        })
    }

    /// Takes the exact counts that are there and asks for the others.
    pub fn refine(&mut self, counter: &TokenCounter) {
        self.system.refine(|of, text| counter.count(of, text));
        if let Some(rules) = self.rules.part_mut() {
            rules.refine(|of, text| counter.count(of, text));
        }
        self.schemas.refine(|of, specs| counter.count(of, specs));
    }

    /// Goes back to estimates.
    pub fn forget_counts(&mut self) {
        self.system.forget_count();
        self.schemas.forget_count();
        if let Some(rules) = self.rules.part_mut() {
            rules.forget_count();
        }
    }

    /// Looks at the rules files again, off the async threads; returns whether their text changed.
    pub async fn refresh_rules(&mut self, workspace: &Path) -> bool {
        let (mut rules, workspace) = (self.rules.clone(), workspace.to_owned());
        let looked = tokio::task::spawn_blocking(move || {
            let changed = rules.refresh(&workspace);
            (rules, changed)
        });
        let Ok((rules, changed)) = looked.await else { return false };
        self.rules = rules;
        changed
    }
}
