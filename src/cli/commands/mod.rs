//! One file a subcommand, and the table that lists them.

pub mod mcp;
pub mod project;
pub mod sessions;
pub mod table;
pub mod work;
