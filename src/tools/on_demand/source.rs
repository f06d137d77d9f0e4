//! Sources of tools whose schemas aren't part of every request.

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::api::{Prepared, ToolError};
use crate::cx::ToolCx;
use base::model::call::ToolSpec;

pub type Specs<'a> = BoxFuture<'a, Result<Vec<ToolSpec>, ToolError>>;

pub trait ToolSource: Send + Sync {
    /// Shown to the model in advance, most useful first. Fixed for the session, so it must not contact a server.
    fn listed(&self) -> Vec<String>;

    fn takes(&self, name: &str) -> bool;

    /// The tool of this name, or all; connects if necessary.
    fn specs<'a>(&'a self, name: Option<&'a str>, cx: &'a ToolCx) -> Specs<'a>;

    fn parallel(&self, name: &str, args: &Value) -> bool;

    /// Parses a call without connecting.
    fn prepare(&self, name: &str, args: Value) -> Result<Box<dyn Prepared>, ToolError>;
}
