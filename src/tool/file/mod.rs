//! Tools on single files, and what they share: who has read what, and where an edit belongs.

pub mod apply;
pub mod change;
pub mod diagnose;
pub mod edit;
pub mod lines;
pub mod match_edit;
pub mod multi_edit;
pub mod read;
pub mod state;
pub mod weave;
pub mod write;
