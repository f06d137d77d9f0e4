//! All tools of an agent: those in every request, and the one that gives access to the rest. Our own on-demand tools are
//! listed with their arguments, so that most calls don't need the schema.

use std::sync::Arc;

use serde_json::Value;

use super::more_tools::{self, MoreTools, with_arguments};
use crate::api::{Prepared, Specs, Tool, ToolError, ToolSource, TypedTool as _};
use crate::cx::ToolCx;
use crate::plan::ask_user::AskUser;
use crate::registry;
use crate::web::state::WebState;

/// The tools the agent `has`, with those of `sources` on demand; `web` is whether web search is available.
pub fn tools(
    sources: &[Arc<dyn ToolSource>],
    web: &WebState,
    has: impl Fn(&str) -> bool,
) -> Vec<Box<dyn Tool>> {
    let mut on_demand = registry::on_demand(web.searcher.is_some());
    on_demand.retain(|tool| has(tool.name()));
    let builtin: Arc<dyn ToolSource> = Arc::new(BuiltinSource::new(on_demand));
    let sources = std::iter::once(builtin).chain(sources.iter().map(Arc::clone)).collect();
    let mut tools = registry::builtin();
    tools.retain(|tool| has(tool.name()));
    tools.extend(MoreTools::new(sources).map(|more| Box::new(more) as Box<dyn Tool>));
    tools
}

/// Tools not shown to the model. Servers set up by the user stay available even in a small window.
pub fn left_out(small_window: bool, interactive: bool, sources: &[Arc<dyn ToolSource>]) -> Vec<&'static str> {
    let has_servers = sources.iter().any(|source| !source.listed().is_empty());
    let left_out = |name: &&str| small_window && !(has_servers && *name == more_tools::NAME);
    let mut names: Vec<&str> = registry::DISPENSABLE.into_iter().filter(left_out).collect();
    // It can still be called, and answers that no user is there.
    names.extend((!interactive).then_some(AskUser::NAME));
    names
}

pub struct BuiltinSource(Vec<Box<dyn Tool>>);

impl BuiltinSource {
    pub fn new(tools: Vec<Box<dyn Tool>>) -> Self {
        Self(tools)
    }

    fn find(&self, name: &str) -> Result<&dyn Tool, ToolError> {
        registry::find(&self.0, name)
    }
}

impl ToolSource for BuiltinSource {
    fn listed(&self) -> Vec<String> {
        self.0.iter().map(|tool| with_arguments(&tool.spec())).collect()
    }

    fn takes(&self, name: &str) -> bool {
        self.find(name).is_ok()
    }

    fn specs<'a>(&'a self, name: Option<&'a str>, _: &'a ToolCx) -> Specs<'a> {
        let specs = match name {
            Some(name) => self.find(name).map(|tool| vec![tool.spec()]),
            None => Ok(self.0.iter().map(|tool| tool.spec()).collect()),
        };
        Box::pin(async { specs })
    }

    fn parallel(&self, name: &str, args: &Value) -> bool {
        self.find(name).is_ok_and(|tool| tool.parallel(args))
    }

    fn prepare(&self, name: &str, args: Value) -> Result<Box<dyn Prepared>, ToolError> {
        self.find(name)?.prepare(args)
    }
}
