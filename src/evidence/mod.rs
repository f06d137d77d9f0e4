//! Which files a task is about, found without any model (SPEC §7): an index of the project, its git history, and a
//! ranker that shows its work. Knows nothing of tools, sessions or requests.

pub mod categorize;
pub mod index;
pub mod past;
pub mod rank;
pub mod text;
