//! Reads which servers there are and how to reach them from our files and those of other agents.

pub mod entry;
pub mod import;
pub mod server;
pub mod user_file;
