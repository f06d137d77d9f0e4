//! Commands about sessions of other agents.

pub mod import;
pub mod import_args;
pub mod replay_past;
