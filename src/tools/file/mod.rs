//! Tools on single files, and the state they share.

pub mod change;
pub mod edit;
pub mod known;
pub mod matching;
pub mod patch;
pub mod read;
pub mod state;
pub mod watch;
pub mod write;
pub mod wrote;
