//! An agent's tools and their context.

pub mod alone;
pub mod context;
pub mod offers;
pub mod tools;
