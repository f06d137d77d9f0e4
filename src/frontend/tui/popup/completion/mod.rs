//! Completion while typing: files, commands, words of a shell line.

pub mod complete;
pub mod files;
pub mod state;
