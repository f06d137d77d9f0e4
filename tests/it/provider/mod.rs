//! Model servers: each dialect on the wire, faults, hostile streams, windows and token counts.

mod answer_format;
mod certificates;
mod chat_gateways;
mod chatgpt;
pub mod faults;
mod hostile_streams;
mod keys;
mod refused_fields;
mod reply_ends;
pub mod responses;
mod responses_stream;
mod server_windows;
mod small_servers;
pub mod stream;
mod text_tools;
mod token_counts;
pub mod waits;
pub mod wire;
