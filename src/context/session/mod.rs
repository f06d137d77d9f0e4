//! The session log: append-only JSONL, never rewritten. It is the source of truth: history is rebuilt from
//! it, and everything else (lists, compressed forms) is derived.

pub mod effective;
pub mod journal;
pub mod list;
pub mod log;
pub mod outcomes;
pub mod prompts;
pub mod reader;
pub mod record;
pub mod stored;
pub mod undo_stack;
