//! What a session's tools say of themselves beyond their own descriptions.

use std::sync::Arc;

use base::model::call::ToolSpec;
use tools::api::{TypedTool as _, object};
use tools::run::bash::{Bash, KEEP_ARGUMENT};

/// `more` is added to a tool's description.
pub fn described(specs: &[ToolSpec], tool: &str, more: &str) -> Arc<[ToolSpec]> {
    changed(specs, tool, |spec| spec.description = format!("{}{more}", spec.description).into())
}

/// Lets the model start services that outlive the run.
pub fn with_keep(specs: &[ToolSpec]) -> Arc<[ToolSpec]> {
    changed(specs, Bash::NAME, |spec| {
        let more = " keep: start a service that must keep running after this run.";
        spec.description = format!("{}{more}", spec.description).into();
        spec.schema = object(&format!("{}, {KEEP_ARGUMENT}", Bash::ARGUMENTS));
    })
}

fn changed(specs: &[ToolSpec], tool: &str, change: impl Fn(&mut ToolSpec)) -> Arc<[ToolSpec]> {
    let mut specs = specs.to_vec();
    specs.iter_mut().filter(|spec| &*spec.name == tool).for_each(change);
    specs.into()
}
