//! The OpenAI Responses dialect, without any state on the server.

pub mod body;
pub mod decoder;
