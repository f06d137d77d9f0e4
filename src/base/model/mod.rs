//! Shared data types: items, calls, requests, stream events, usage, envelopes. Plain serde data; knows no
//! provider's wire format and does no I/O.

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
