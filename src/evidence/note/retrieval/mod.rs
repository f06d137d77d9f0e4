//! Which notes belong to a task or a query, and how they stand in a message.

pub mod frame;
pub mod graph;
pub mod retrieve;
pub mod search;
