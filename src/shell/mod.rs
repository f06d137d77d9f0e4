//! What a bash script would run, without running it.

pub mod interpret;
pub mod syntax;
