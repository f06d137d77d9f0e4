//! The same events in the forms that scripts for other agents read.

pub mod claude;
pub mod claude_result;
pub mod claude_stream;
pub mod codex;
pub mod converse;
pub mod host;
pub mod host_answers;
