//! From arguments to a running agent.

pub mod ask_trust;
pub mod open;
pub mod test_request;
