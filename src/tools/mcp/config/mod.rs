//! Reads the list of servers and how to reach them, from our files and other agents'.

pub mod entry;
pub mod import;
pub mod server;
pub mod user_file;
