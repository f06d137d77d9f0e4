//! The project's index on disk: which words occur in which passage of which file.

pub mod build;
pub mod format;
pub mod segment;
pub mod store;
