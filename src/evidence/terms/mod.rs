//! What tasks in other languages call in English: tables of software terms, a file a language.

pub mod language;
mod table;
pub mod translate;
