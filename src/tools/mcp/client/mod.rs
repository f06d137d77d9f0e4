//! The only folder that knows the protocol's crate (`rmcp` 3.11): connections to servers, what they may ask of us, and signing
//! in to them.

pub mod assertion;
pub mod connection;
pub mod connector;
pub mod credentials;
pub mod elicitation;
pub mod error;
pub mod handler;
pub mod http;
pub mod sign_in;
pub mod stdio;
pub mod token;
