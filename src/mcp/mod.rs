//! Servers of other people that speak the Model Context Protocol (MCP): their configuration, the connections to them, and what
//! they offer as tools for the model. Only `client/` knows the protocol's crate.

pub mod client;
pub mod config;
