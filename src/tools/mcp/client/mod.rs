//! Connections to servers and signing in. Apart from `serve`, only this folder uses the protocol crate (`rmcp` 3.11).

pub mod bounded;
pub mod connection;
pub mod connector;
pub mod credentials;
pub mod elicitation;
pub mod error;
pub mod handler;
pub mod host;
pub mod http;
pub mod ordered_http;
pub mod sign_in;
pub mod stdio;
