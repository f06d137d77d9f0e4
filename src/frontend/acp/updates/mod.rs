//! Agent events as client updates.

pub mod diff;
pub mod tool_call;
pub mod translate;
