//! The slash commands: one table, one file for each command that has logic.

pub mod api;
pub mod compact;
pub mod context;
pub mod help;
pub mod init;
pub mod jobs;
pub mod model;
pub mod permission;
pub mod recall;
pub mod resume;
pub mod rewind;
pub mod session;
pub mod table;
pub mod uncompact;
