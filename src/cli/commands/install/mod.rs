//! Commands about the installed program itself.

pub mod login;
pub mod man;
pub mod update;
