//! HTTP for model servers: the client, event streams, errors, timeouts, retries.

pub mod address;
pub mod chatgpt;
pub mod decoder;
pub mod endpoint;
pub mod error_mapping;
pub mod exchange;
pub mod http;
pub mod key_command;
pub mod retry;
pub mod sse;
pub mod timeouts;
