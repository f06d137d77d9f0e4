//! The grammar of bash: from the text of a command to a tree. Knows no program and runs nothing.

pub mod ast;
pub mod lexer;
pub mod parse;
pub mod pieces;
pub mod word;
