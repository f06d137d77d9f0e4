//! The headless front end: one task in, its answer out. Knows the agent only as `Op` and `Event`.

pub mod events;
pub mod human;
pub mod json;
pub mod output_schema;
pub mod printer;
pub mod run;
