//! What tests share: a fake model server that speaks both dialects, checks every request, and misbehaves on demand.

pub mod answer;
pub mod check;
pub mod server;
