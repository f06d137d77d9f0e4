//! The words that every floor above shares: items, calls, requests, stream events, usage, envelopes.
//! Serde data only; knows no provider's wire format and does no input or output.

pub mod call;
pub mod context_limit;
pub mod envelope;
pub mod fingerprint;
pub mod item;
pub mod provider;
pub mod request;
pub mod stream;
pub mod usage;
