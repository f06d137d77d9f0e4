//! The session log: append-only JSONL, written as things happen, never rewritten. It is the truth from which history
//! is rebuilt; everything else (lists, compressed forms) is derived.

pub mod draft;
pub mod holder;
pub mod journal;
pub mod list;
pub mod log;
pub mod maintained;
pub mod projects;
pub mod prompt_history;
pub mod reader;
pub mod record;
pub mod standing;
pub mod stored;
pub mod undo_stack;
