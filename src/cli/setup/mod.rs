//! From arguments to a running agent.

pub mod agent_setup;
pub mod ask;
pub mod first_run;
pub mod limits;
pub mod open;
pub mod test_request;
