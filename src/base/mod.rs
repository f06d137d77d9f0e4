//! Ground floor: text, time, secrets, files and processes.

pub mod clock;
pub mod diff_cut;
pub mod file;
pub mod folder;
pub mod format;
pub mod path;
pub mod pattern;
pub mod process;
pub mod quota;
pub mod repository;
pub mod sanitize;
pub mod secret;
pub mod text;
