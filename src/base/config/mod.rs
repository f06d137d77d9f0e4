//! Settings: the file's shape (`raw`), merging with origins (`load`), and validated sections (`settings`). No
//! part of the program gets the full configuration, only its own section.

pub mod admin;
pub mod error;
pub mod image_tokens;
pub mod keys;
pub mod language_servers;
pub mod load;
pub mod mode;
pub mod models;
pub mod paths;
pub mod permission_rules;
pub mod prompts;
pub mod provider_section;
pub mod raw;
pub mod remember;
pub mod saved_keys;
pub mod settings;
pub mod source;
pub mod theme;
pub mod trusted;
pub mod vendors;
