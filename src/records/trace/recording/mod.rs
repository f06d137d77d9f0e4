//! Recorded sessions: reading, classifying calls, and conversion to replay events.

pub mod call_shape;
pub mod events;
pub mod reader;
