//! What tests share: a fake model server that speaks all dialects, checks every request, and misbehaves on demand; a
//! fake engine for the screen; a hermetic place to start the real binary in; and an exact token count.

pub mod agent;
pub mod answer;
pub mod check;
pub mod editor;
pub mod emulator;
pub mod fake_engine;
pub mod mcp_server;
pub mod preserved;
pub mod replies;
pub mod responses;
pub mod sandbox_world;
pub mod screen;
pub mod server;
pub mod stage;
pub mod tokens;
pub mod tools;
pub mod web;
pub mod workplace;
