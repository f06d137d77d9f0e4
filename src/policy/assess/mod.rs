//! What one call does: tables of programs and their telling options, and the places that they touch. Knows no
//! permission level.

pub mod builds;
pub mod changers;
pub mod filters;
pub mod finding;
pub mod git;
pub mod git_lists;
pub mod interpreters;
pub mod lookers;
pub mod managers;
pub mod network;
pub mod options;
pub mod reach_lists;
pub mod scripts;
pub mod segment;
pub mod tools;
pub mod touch;
