//! The headless front end: one task in, its answer out.

pub mod compat;
pub mod human;
pub mod json;
pub mod output_schema;
pub mod printer;
pub mod run;
pub mod turn_answer;
