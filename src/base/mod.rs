//! Ground floor: text, time, secrets, files and processes.

pub mod clock;
pub mod diff_cut;
pub mod encoding;
pub mod file;
pub mod folder;
pub mod frontmatter;
pub mod path;
pub mod path_text;
pub mod pattern;
pub mod picture;
pub mod process;
pub mod quota;
pub mod repository;
pub mod sanitize;
pub mod secret;
pub mod text;
