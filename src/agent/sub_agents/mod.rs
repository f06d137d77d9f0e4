//! Sub-agents: a turn in a window and a session of its own, for a part of the work (SPEC §10).

pub mod progress;
pub mod runner;
pub mod template;
