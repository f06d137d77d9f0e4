//! The reducer: messages and the agent's events change the state.

pub mod on_event;
pub mod on_message;
pub mod viewing;
