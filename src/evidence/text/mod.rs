//! Analyzes a single text: words, symbols, imports, the kind of file.

pub mod chunks;
pub mod kind;
pub mod language;
pub mod stem;
pub mod symbols;
pub mod words;
