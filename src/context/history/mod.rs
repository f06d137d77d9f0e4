//! What the agent remembers of the session: every item with the form in which it is sent.

pub mod entry;
pub mod forms;
pub mod ingest;
pub mod manager;
pub mod normalize;
pub mod references;
pub mod user_edits;
