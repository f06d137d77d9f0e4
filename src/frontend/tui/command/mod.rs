//! Slash commands: the table and their handlers.

pub mod run;
pub mod show;
pub mod table;
