//! English terms for tasks in other languages: tables of software terms, one file per language.

pub mod language;
mod table;
pub mod translate;
