//! Lists for front ends: sessions, models, status. They don't need the conversation, so they work during a turn.

pub mod models;
pub mod sessions;
pub mod status;
