//! Model servers: each dialect on the wire, faults, hostile streams, windows and token counts.

mod chat_gateways;
mod exact_counts;
pub mod faults;
mod hostile_streams;
mod reply_ends;
pub mod responses;
mod responses_stream;
mod server_windows;
pub mod stream;
pub mod wire;
