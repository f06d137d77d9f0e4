//! Settings: the file's shape, where each value came from, and the built, validated sections that the rest uses.
//! Nobody above receives the whole configuration; each part gets its own section.

pub mod prompts;
pub mod settings;
