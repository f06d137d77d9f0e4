//! Slash commands: the table and their handlers.

pub mod help;
pub mod pickers;
pub mod run;
pub mod show;
pub mod table;
