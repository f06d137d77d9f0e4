//! The OpenAI Chat Completions dialect and its many variants.

pub mod body;
pub mod calls;
pub mod decoder;
pub mod inline_thinking;
pub mod replay;
pub mod signed_thinking;
