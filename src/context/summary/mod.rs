//! Summaries of old rounds: written by a model, checked against the log, combined with facts.

pub mod compressor;
pub mod grounding;
pub mod state_block;
pub mod verify;
