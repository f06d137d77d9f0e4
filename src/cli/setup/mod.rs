//! From arguments to a running agent.

pub mod agent_setup;
pub mod answer;
pub mod ask_busy;
pub mod ask_trust;
pub mod first_run;
pub mod limits;
pub mod log_of;
pub mod open;
pub mod test_request;
