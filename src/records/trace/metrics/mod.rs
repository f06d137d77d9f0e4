//! Replay metrics: tokens and cost, prefix lifetime, and retention of what later calls used.

pub mod edits;
pub mod epochs;
pub mod measure;
pub mod originals;
pub mod verbatim;
