//! One file per subcommand, and the table that lists them.

pub mod doctor;
pub mod install;
pub mod mcp;
pub mod peers;
pub mod project;
pub mod sessions;
pub mod table;
pub mod work;
