//! `mycode mcp`: manages other servers, and serves as one.

pub mod manage;
pub mod open;
pub mod serve;
pub mod test;
