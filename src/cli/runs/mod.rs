//! Runs of `exec`, batches and builds: their record, and how they continue in the background.

pub mod background;
pub mod log;
pub mod page;
pub mod record;
pub mod session_facts;
pub mod state;
