//! Where the agent tells the user's hooks what happens, and does what they decide.

pub mod agent_hooks;
pub mod tool_hooks;
pub mod turn_hooks;
