//! The same events in the formats that scripts for other agents read.

pub mod claude;
pub mod codex;
pub mod context_usage;
pub mod converse;
pub mod host;
pub mod rewind_files;
