//! What earlier sessions learned: one Markdown file per note. Users edit them by hand, so their content isn't
//! trusted, and notes are never deleted.

pub mod digest;
pub mod error;
pub mod folder;
pub mod forget;
pub mod index;
pub mod name;
pub mod progress;
pub mod record;
pub mod retrieval;
pub mod store;
