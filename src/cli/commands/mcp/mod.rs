//! `mycode mcp`: other people's servers, and ourselves as one.

pub mod args;
pub mod manage;
pub mod open;
pub mod serve;
pub mod test;
