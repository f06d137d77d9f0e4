//! The user's input: the message that starts a turn, what is added to it, and what is typed during the turn.

pub mod begin;
pub mod blocks;
pub mod images;
pub mod machine;
pub mod message;
pub mod prompt_expansion;
pub mod steering;
pub mod task_context;
