//! The foundation of all other crates: text, time, secrets, files and processes; request and reply data
//! (`model`), search (`search`), settings (`config`), and the front ends' view of the agent (`protocol`).

pub mod clock;
pub mod config;
pub mod deadline;
pub mod file;
pub mod folder;
pub mod format;
pub mod git_index;
pub mod json_rpc;
pub mod model;
pub mod parallel;
pub mod path;
pub mod pattern;
pub mod process;
pub mod protocol;
pub mod repository;
pub mod sanitize;
pub mod search;
pub mod secret;
pub mod system;
pub mod text;
