//! Tools that find folder contents, files and text.

pub mod glob;
pub mod grep;
pub mod locate;
pub mod ls;
pub mod symbols;
