//! Where an edit belongs and what it changes there; text in, text out.

pub mod apply;
pub mod compare;
pub mod diagnose;
pub mod lines;
pub mod match_edit;
pub mod slips;
