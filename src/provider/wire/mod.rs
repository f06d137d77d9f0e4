//! HTTP as model servers use it: one client, event streams, faults in every server's words, retries.
//! Knows no dialect.

pub mod body;
pub mod exchange;
pub mod fault;
pub mod form;
pub mod http;
pub mod json;
pub mod patience;
pub mod retry;
pub mod sse;
pub mod told;
