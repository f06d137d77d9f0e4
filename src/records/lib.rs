//! Recorded sessions: of other agents (`import`), under other policies (`trace`), as documents (`export`).

pub mod export;
pub mod import;
pub mod trace;
