//! The program that started us, where it serves hooks and MCP servers itself (Claude's SDKs do).

use futures_util::future::BoxFuture;
use serde_json::Value;

pub trait HostProgram: Send + Sync {
    /// Sends a request of Claude's control protocol and waits for the response; an error is the program's sentence.
    fn request(&self, request: Value) -> BoxFuture<'_, Result<Value, String>>;
}
