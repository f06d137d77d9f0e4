//! Full-screen lists: sessions, models, permissions, todos, jobs; a `PickList` with rows and keys each.

pub mod jobs;
pub mod keys;
pub mod models;
pub mod notes;
pub mod permissions;
pub mod sessions;
pub mod todos;
