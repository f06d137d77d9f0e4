//! What can be made again from a session log alone: the session, each of its requests, and the history of each item.

pub mod item_history;
pub mod run;
pub mod session_replay;
