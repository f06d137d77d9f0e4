//! `mycode doctor`: the configuration, where it came from, and whether it works. Each check is one function.

pub mod findings;
pub mod model;
pub mod models;
pub mod run;
