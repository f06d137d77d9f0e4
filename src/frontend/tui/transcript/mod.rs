//! The transcript: finished pieces for the scrollback, and live ones.

pub mod diff;
pub mod entry;
pub mod live;
pub mod replay;
pub mod tool;
