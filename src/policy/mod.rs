//! What may run: accesses that a call declares, the person's rules, and the verdict. Knows no tool and no front end.

pub mod access;
pub mod assess;
pub mod command;
pub mod flow;
pub mod grammar;
pub mod place;
pub mod prefix;
pub mod rules;
pub mod sandbox;
pub mod secrets;
pub mod steering;
pub mod verdict;
