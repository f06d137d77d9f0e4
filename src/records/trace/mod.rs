//! Evaluates context policies offline: replays recorded sessions, request by request, with the live agent's code.

pub mod compare;
pub mod metrics;
pub mod past;
pub mod policy;
pub mod recording;
pub mod simulate;
pub mod table;
