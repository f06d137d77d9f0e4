//! Agent events as client updates.

pub mod tool_call;
pub mod translate;
