//! Selects notes for a task or query, and formats them for a message.

pub mod frame;
pub mod graph;
pub mod retrieve;
pub mod search;
