//! The completion of what is being typed: files, commands, words of a shell line.

pub mod commands;
pub mod complete;
pub mod files;
pub mod shell_words;
pub mod state;
