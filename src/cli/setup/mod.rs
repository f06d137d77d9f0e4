//! From arguments to a running agent.

pub mod agent_setup;
pub mod ask;
pub mod ask_trust;
pub mod limits;
pub mod open;
pub mod ports;
pub mod questions;
pub mod tools_alone;
