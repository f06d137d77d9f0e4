//! Sub-agents: parts of the work done in a turn with its own window and session.

pub mod runner;
pub mod template;
