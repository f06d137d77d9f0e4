//! Runs the user's hooks and applies their decisions.

pub mod agent_hooks;
pub mod tool_hooks;
pub mod turn_hooks;
