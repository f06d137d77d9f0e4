//! Analyzes a single text: passages, symbols, the kind of file.

pub mod chunks;
pub mod kind;
pub mod language;
pub mod symbols;
