//! Tools that find: what is in a folder, which files there are, where a text occurs.

pub mod glob;
pub mod grep;
pub mod locate;
pub mod ls;
pub mod symbols;
