//! HTTP as model servers use it: one client, event streams, faults in every server's words, retries.

pub mod context_limit_hint;
pub mod decompress;
pub mod error_mapping;
pub mod exchange;
pub mod framing;
pub mod http;
pub mod json;
pub mod retry;
pub mod sse;
pub mod timeouts;
