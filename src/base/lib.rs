//! What every other crate stands on: text, time, secrets, files and processes; the data of requests and replies (`model`),
//! search without a model (`search`), settings (`config`), and what front ends know of the agent (`protocol`).

pub mod clock;
pub mod config;
pub mod diff_cut;
pub mod file;
pub mod folder;
pub mod format;
pub mod model;
pub mod path;
pub mod pattern;
pub mod process;
pub mod protocol;
pub mod quota;
pub mod repository;
pub mod sanitize;
pub mod search;
pub mod secret;
pub mod text;
