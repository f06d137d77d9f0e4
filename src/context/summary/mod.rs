//! Old rounds as a summary: written by a model, checked against the log, with the facts.

pub mod compressor;
pub mod grounding;
pub mod state_block;
pub mod verify;
