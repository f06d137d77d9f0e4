//! Finds the files a task is about without a model: a word index, git history, and an explainable ranker.

pub mod categorize;
pub mod commits;
pub mod hints;
pub mod index;
pub mod keywords;
pub mod note;
pub mod rank;
pub mod retriever;
pub mod survey;
pub mod task_context;
pub mod terms;
pub mod text;
