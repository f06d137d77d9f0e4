//! The supported agents.

pub mod claude;
pub mod codex;
pub mod found;
pub mod gemini;
pub mod list;
pub mod opencode;
