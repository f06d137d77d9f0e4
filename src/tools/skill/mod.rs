//! Skills: instructions for a kind of task that are loaded when they are needed. One is understood, listed, found and filled in
//! here; nothing here runs anything.

pub mod definition;
pub mod fill;
pub mod set;
pub mod suggest;
