//! What the agent remembers of the session: every item with the form in which it is sent.

pub mod entry;
pub mod manager;
pub mod normalize;
pub mod relief;
pub mod working_set;
