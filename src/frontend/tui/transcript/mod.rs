//! What the session looks like: finished pieces for the scrollback, and the live ones that still change.

pub mod changed_words;
pub mod diff;
pub mod entry;
pub mod live;
pub mod replay;
pub mod tool;
