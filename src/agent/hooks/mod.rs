//! Where the agent runs the user's hooks and follows their decisions.

pub mod agent_hooks;
pub mod tool_hooks;
pub mod turn_hooks;
