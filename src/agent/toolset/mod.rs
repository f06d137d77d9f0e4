//! The tools of an agent with their surroundings.

pub mod alone;
pub mod context;
pub mod tools;
