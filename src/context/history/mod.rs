//! What the agent remembers of the session: every item with the form in which it is sent.

pub mod batch;
pub mod edit;
pub mod entry;
pub mod ingest;
pub mod ladder;
pub mod leaning;
pub mod manager;
pub mod normalize;
pub mod relief;
pub mod segments;
pub mod squeeze;
pub mod steward;
pub mod words;
pub mod working_set;
