//! Tools on single files, and what they share: who has read what, and how a change is planned and written.

pub mod change;
pub mod edit;
pub mod matching;
pub mod read;
pub mod state;
pub mod watch;
pub mod write;
