//! What can be rebuilt from a session log alone: the session, its requests, and the history of each item.

pub mod item_history;
pub mod run;
pub mod session_replay;
