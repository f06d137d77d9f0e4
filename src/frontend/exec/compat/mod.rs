//! The same events in the forms that scripts for other agents read.

pub mod codex;
