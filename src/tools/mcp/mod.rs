//! External servers (Model Context Protocol, MCP). Only `client/` and `serve` use the protocol crate.

pub mod catalog;
pub mod client;
pub mod config;
pub mod describe;
pub mod host_requests;
pub mod result;
pub mod serve;
pub mod servers;
pub mod source;
pub mod typed;
