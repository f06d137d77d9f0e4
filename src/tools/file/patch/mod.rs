//! Patches in V4A form, as GPT models write them: several files in one call, all or nothing.

pub mod apply;
pub mod foreign;
pub mod in_command;
pub mod parse;
pub mod place;
