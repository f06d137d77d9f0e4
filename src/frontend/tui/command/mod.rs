//! Slash commands: the table and their handlers.

pub mod models;
pub mod run;
pub mod show;
pub mod table;
