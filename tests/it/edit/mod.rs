//! Edits that are never wrong.

mod bytes;
mod changes;
mod files;
mod not_found;
mod patches;
mod places;
mod states;
pub mod table;
