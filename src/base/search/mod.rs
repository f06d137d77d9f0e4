//! Searching the workspace: walking, content search, name patterns, fuzzy ranking, terms and their weight.

pub mod bm25;
pub mod by_meaning;
pub mod fold;
pub mod fuzzy;
pub mod glob;
pub mod grep;
pub mod walk;
pub mod words;
