//! Hooks: commands of the user's that run on an event, are told of it as JSON on standard input, and may decide. Events,
//! settings, payloads and answers are those of Claude Code (its hooks reference at code.claude.com/docs/en/hooks and the types
//! of `@anthropic-ai/claude-agent-sdk` 0.3.330, both of November 2026), so that what was set up there works here.
//!
//! A hook is the user's own program: it runs unconfined, as they would run it, in a session of its own without a terminal,
//! with their environment but our keys. It has a time limit, and its children end with it then. What it says is bounded.

pub mod answer;
pub mod condition;
pub mod event;
pub mod listing;
pub mod matcher;
pub mod notice;
pub mod process;
pub mod runner;
pub mod settings;
pub mod tool_names;
pub mod verdict;
