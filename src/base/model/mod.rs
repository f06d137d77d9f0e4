//! Shared data types: items, calls, requests, stream events, usage, envelopes. Plain serde data without I/O and
//! without any provider's wire format.

pub mod call;
pub mod envelope;
pub mod facts;
pub mod fingerprint;
pub mod item;
pub mod observation;
pub mod provider;
pub mod request;
pub mod stream;
pub mod usage;
