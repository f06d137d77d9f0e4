//! Patches in the V4A form, which GPT models write: several files in one call, all or nothing.

pub mod apply;
pub mod foreign;
pub mod in_command;
pub mod parse;
pub mod place;
