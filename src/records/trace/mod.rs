//! Judging context policies offline: recorded sessions are replayed, request by request, under the code that the live
//! agent uses. Knows the context engine and one wire format; knows no network, no tool and no front end.

pub mod bootstrap;
pub mod compare;
pub mod metrics;
pub mod past;
pub mod past_table;
pub mod policy;
pub mod recording;
pub mod simulate;
pub mod table;
