//! Which commands check the project, and what their output tells.

pub mod closing_lines;
pub mod find;
pub mod programs;
pub mod project;
