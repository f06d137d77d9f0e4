//! Smaller forms of what happened: of one result, of one item, of many rounds.

pub mod forms;
pub mod redact;
pub mod spill;
pub mod state_block;
pub mod summary;
pub mod tool_result;
pub mod verify;
