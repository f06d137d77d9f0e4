//! All tools of an agent: those of every request, and the one through which the others are reached.

use std::sync::Arc;

use super::builtin::BuiltinSource;
use super::more_tools::MoreTools;
use super::source::ToolSource;
use crate::tool::api::Tool;
use crate::tool::registry;

/// The tools, with those of `sources` on demand.
pub fn tools(sources: &[Arc<dyn ToolSource>]) -> Vec<Box<dyn Tool>> {
    let builtin: Arc<dyn ToolSource> = Arc::new(BuiltinSource::new(registry::on_demand()));
    let sources = std::iter::once(builtin).chain(sources.iter().map(Arc::clone)).collect();
    let mut tools = registry::builtin();
    tools.extend(MoreTools::new(sources).map(|more| Box::new(more) as Box<dyn Tool>));
    tools
}
