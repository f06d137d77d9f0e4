//! `mycode mcp`: other people's servers, and ourselves as one.

pub mod manage;
pub mod open;
pub mod serve;
pub mod test;
