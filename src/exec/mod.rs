//! The headless front end: one task in, its answer out. Knows the agent only as `Op` and `Event`.

pub mod human;
pub mod json;
pub mod printer;
pub mod run;
