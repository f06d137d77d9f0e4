//! The project's index on disk: which words stand in which piece of which file. Knows nothing of queries or scores.

pub mod build;
pub mod census;
pub mod codec;
pub mod harvest;
pub mod merge;
pub mod pages;
pub mod reader;
pub mod run;
pub mod segment;
pub mod store;
