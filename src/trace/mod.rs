//! Judging context policies offline: recorded sessions are replayed, request by request, under the code that the live
//! agent uses. Knows the context engine and one wire format; knows no network, no tool and no front end.

pub mod bootstrap;
pub mod call_shape;
pub mod compare;
pub mod epochs;
pub mod events;
pub mod measure;
pub mod originals;
pub mod past;
pub mod past_table;
pub mod policy;
pub mod reader;
pub mod simulate;
pub mod table;
pub mod verbatim;
