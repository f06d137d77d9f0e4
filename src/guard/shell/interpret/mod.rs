//! From the syntax tree to the programs that would be called, with what is known of their words.

pub mod call;
pub mod interpreter;
pub mod known_output;
pub mod variables;
pub mod words;
pub mod wrappers;
