//! `mycode doctor`: what is configured, where it came from, and whether it works. Each check is one function in one list.

pub mod checks;
pub mod findings;
pub mod folders;
pub mod model;
pub mod own;
pub mod run;
pub mod web;
