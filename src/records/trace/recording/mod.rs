//! Recorded sessions: reading, classifying calls, and conversion to replay events.

pub mod events;
pub mod reader;
