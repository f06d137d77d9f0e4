//! The OpenAI Responses dialect, without any state at the server.

pub mod body;
pub mod decoder;
