//! Where an edit belongs and what it puts there: text in, text out. Knows no file and no tool.

pub mod apply;
pub mod diagnose;
pub mod lines;
pub mod match_edit;
pub mod weave;
