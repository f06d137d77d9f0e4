//! What servers taught us, per server and model: their windows, and what they refuse of our requests.

pub mod known_servers;
pub mod lessons;
