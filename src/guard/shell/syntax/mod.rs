//! Text to syntax tree.

pub mod ast;
pub mod clauses;
pub mod lexer;
pub mod parser;
pub mod word;
