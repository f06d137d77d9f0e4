//! Sub-agents: a turn in its own window and session, for part of the work.

pub mod runner;
pub mod template;
