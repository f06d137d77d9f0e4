//! Sessions that were begun in other agents: found, read, and written as one of ours. Each agent is one file in `peers`
//! and one line in its list.

pub mod calls;
pub mod lines;
pub mod peers;
pub mod transcript;
pub mod write;
