//! Which files a task is about, found without any model (SPEC §7): an index of the project, its git history, and a
//! ranker that shows its work.

pub mod categorize;
pub mod commits;
pub mod hints;
pub mod index;
pub mod keywords;
pub mod note;
pub mod patterns;
pub mod rank;
pub mod retriever;
pub mod services;
pub mod survey;
pub mod task_context;
pub mod text;
