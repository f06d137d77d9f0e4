//! The project's index on disk: which words stand in which piece of which file.

pub mod build;
pub mod codec;
pub mod extract;
pub mod merge;
pub mod pages;
pub mod reader;
pub mod run;
pub mod scan;
pub mod segment;
pub mod store;
