//! Skills: instructions for a kind of task, loaded on demand. Doesn't run anything.

pub mod definition;
pub mod fill;
pub mod set;
