//! Full-screen lists: sessions, models, permissions, todos, jobs; a `PickList` with rows and keys each.

pub mod keys;
pub mod pages;
pub mod prompts;
pub mod sessions;
pub mod settings;
pub mod todos;
