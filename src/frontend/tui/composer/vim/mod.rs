//! Editing as vi does: its commands over a buffer, and where its motions lead.

pub mod motion;
pub mod state;
