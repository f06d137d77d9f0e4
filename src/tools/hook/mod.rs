//! Hooks: user commands that run on an event, get it as JSON on standard input, and may decide. Events,
//! settings, payloads and answers match Claude Code (hooks reference at code.claude.com/docs/en/hooks and the
//! types of `@anthropic-ai/claude-agent-sdk` 0.3.330, both of November 2026), so existing setups work here.
//!
//! A hook is the user's own program: it runs unsandboxed, in its own session without a terminal, with the
//! user's environment except for our keys. Its time and output are limited, and its child processes end with it.

pub mod answer;
pub mod callback;
pub mod event;
pub mod listing;
pub mod notice;
pub mod process;
pub mod runner;
pub mod settings;
