//! Imports sessions of other agents as ours. Each agent is one file in `peers` and one line in its list.

pub mod calls;
pub mod lines;
pub mod peers;
pub mod transcript;
pub mod write;
