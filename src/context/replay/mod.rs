//! What a session log alone tells: each request again, and the history of each item.

pub mod item_history;
pub mod run;
pub mod session_replay;
