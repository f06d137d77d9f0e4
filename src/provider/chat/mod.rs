//! The OpenAI Chat Completions dialect, and what its many imitators make of it.

pub mod answer;
pub mod body;
pub mod calls;
pub mod provider;
