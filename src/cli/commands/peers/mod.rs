//! Commands about sessions of other agents.

pub mod import;
pub mod replay_past;
