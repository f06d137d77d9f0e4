//! Recorded sessions: imports from other agents (`import`), replays (`trace`), exports (`export`).

pub mod export;
pub mod import;
pub mod trace;
