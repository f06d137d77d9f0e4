//! Servers of other people that speak the Model Context Protocol (MCP): their configuration, the connections to them, and what
//! they offer as tools for the model. Only `client/` and `serve` know the
//! protocol's crate.

pub mod catalog;
pub mod client;
pub mod config;
pub mod describe;
pub mod learned;
pub mod result;
pub mod serve;
pub mod servers;
pub mod source;
pub mod typed;
