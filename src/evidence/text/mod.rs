//! Analyzes a single text: passages, symbols, the kind of file.

pub mod kind;
pub mod language;
pub mod symbols;
