//! Our own rarely used tools, listed with their arguments, so that most calls don't need the schema.

use serde_json::Value;

use super::source::{Specs, ToolSource};
use crate::api::{Prepared, Tool, ToolError};
use crate::cx::ToolCx;
use crate::registry;
use base::model::call::ToolSpec;

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
        self.0.iter().map(|tool| listed(&tool.spec())).collect()
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

/// `Name {url, k?}`.
fn listed(spec: &ToolSpec) -> String {
    let required =
        |name: &str| spec.schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let names = spec.schema["properties"].as_object().into_iter().flat_map(|all| all.keys());
    let names = names.map(|name| if required(name) { name.clone() } else { format!("{name}?") });
    format!("{} {{{}}}", spec.name, names.collect::<Vec<_>>().join(", "))
}
