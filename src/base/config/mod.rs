//! Settings: reading the files (`files`), models and servers (`provider`), and validated sections (`settings`). Each
//! part of the program gets only its own section.

pub mod error;
pub mod files;
pub mod keys;
pub mod language_servers;
pub mod mode;
pub mod opencode_rules;
pub mod paths;
pub mod permission_rules;
pub mod prompts;
pub mod provider;
pub mod settings;
pub mod theme;
pub mod trusted;
