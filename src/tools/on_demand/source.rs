//! Where tools come from whose schemas are not part of every request.

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::api::{Prepared, ToolError};
use crate::cx::ToolCx;
use base::model::call::ToolSpec;

/// The schemas that were asked for.
pub type Specs<'a> = BoxFuture<'a, Result<Vec<ToolSpec>, ToolError>>;

/// A set of such tools: our own, or those of servers.
pub trait ToolSource: Send + Sync {
    /// What the model is told in advance, the most useful first: a name, or a name with its arguments. Fixed for the
    /// session, so nothing is asked for it.
    fn listed(&self) -> Vec<String>;

    /// Whether the name is one of this source's, or of a server of it.
    fn takes(&self, name: &str) -> bool;

    /// What it has under this name, or everything; connects where it must.
    fn specs<'a>(&'a self, name: Option<&'a str>, cx: &'a ToolCx) -> Specs<'a>;

    /// Whether the call may run beside others.
    fn parallel(&self, name: &str, args: &Value) -> bool;

    /// Parses a call. Connects to nothing yet.
    fn prepare(&self, name: &str, args: Value) -> Result<Box<dyn Prepared>, ToolError>;
}
