//! Recorded sessions: read from files, told apart by what their calls do, and turned into the events that a replay plays.

pub mod call_shape;
pub mod events;
pub mod reader;
