//! The OpenAI Chat Completions dialect, and what its many imitators make of it.

pub mod body;
pub mod calls;
pub mod decoder;
pub mod inline_thinking;
pub mod replay;
pub mod signed_thinking;
