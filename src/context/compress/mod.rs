//! Smaller forms of what happened: of one result, of one item, of many rounds.

pub mod evidence;
pub mod filters;
pub mod fold;
pub mod forms;
pub mod index;
pub mod levels;
pub mod mask;
pub mod redact;
pub mod spill;
pub mod state_block;
pub mod summary;
pub mod tool_result;
pub mod vault;
pub mod verify;
