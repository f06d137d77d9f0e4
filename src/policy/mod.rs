//! What may run: accesses that a call declares, the person's rules, and the verdict. Knows no tool and no front end.

pub mod access;
pub mod command;
pub mod flow;
pub mod grammar;
pub mod place;
pub mod prefix;
pub mod programs;
pub mod reach;
pub mod rules;
pub mod shell;
pub mod verdict;
