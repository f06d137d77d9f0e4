//! An agent's tools and their context.

pub mod context;
pub mod tools;
