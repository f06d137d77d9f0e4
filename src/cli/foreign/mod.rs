//! Translates command lines written for Claude Code and Codex.

pub mod chat;
pub mod claude;
pub mod codex;
pub mod help;
pub mod mcp;
pub mod rewrite;
pub mod translate;
pub mod values;
