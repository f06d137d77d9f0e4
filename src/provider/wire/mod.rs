//! HTTP as model servers use it: one client, event streams, faults in every server's words, retries.
//! Knows no dialect.

pub mod exchange;
pub mod fault;
pub mod http;
pub mod json;
pub mod retry;
pub mod sse;
