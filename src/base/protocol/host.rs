//! The host program: it started us and serves hooks and MCP servers itself, like Claude's SDKs.

use futures_util::future::BoxFuture;
use serde_json::Value;

pub trait HostProgram: Send + Sync {
    /// Sends a request of Claude's control protocol and waits for the response; the error is the host's.
    fn request(&self, request: Value) -> BoxFuture<'_, Result<Value, String>>;
}
