//! The slash commands: the list of them, and what each does.

pub mod help;
pub mod pickers;
pub mod run;
pub mod show;
pub mod table;
