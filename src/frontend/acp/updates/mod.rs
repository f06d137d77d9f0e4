//! Agent events as client updates.

pub mod answers;
pub mod diff;
pub mod history;
pub mod tool_call;
pub mod translate;
