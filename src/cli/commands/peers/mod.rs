//! Commands about sessions that were begun in other agents.

pub mod import;
pub mod import_args;
pub mod replay_past;
