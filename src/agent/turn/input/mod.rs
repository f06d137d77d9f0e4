//! What the user typed, and what it stands for: the message with which a turn begins, what comes with it, and what is typed
//! while the turn runs.

pub mod asked;
pub mod attachments;
pub mod begin;
pub mod images;
pub mod message;
pub mod steering;
pub mod user_command;
pub mod waiting;
