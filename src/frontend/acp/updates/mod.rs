//! Events of the agent as the client is told of them.

pub mod answers;
pub mod diff;
pub mod history;
pub mod tool_call;
pub mod translate;
