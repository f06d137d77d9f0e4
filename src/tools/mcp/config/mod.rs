//! Which servers there are and how they are reached, as our own files and those of other agents say it.

pub mod entry;
pub mod import;
pub mod server;
pub mod user_file;
pub mod variables;
