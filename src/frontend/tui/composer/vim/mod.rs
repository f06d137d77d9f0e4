//! Vi editing: commands over a buffer, and motions.

pub mod motion;
pub mod state;
