//! The lists that take the whole screen: sessions, models, permissions, todos, jobs. Each is a `PickList` with rows of its own
//! and the keys that act on the chosen one.

pub mod jobs;
pub mod models;
pub mod permissions;
pub mod sessions;
pub mod todos;
