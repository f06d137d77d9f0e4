//! Commands about the installed program itself.

pub mod man;
pub mod update;
