//! The session's items, each with the form in which it is sent now.

pub mod entry;
pub mod forms;
pub mod manager;
pub mod normalize;
pub mod references;
pub mod user_edits;
