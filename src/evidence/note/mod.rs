//! What the project learned in earlier sessions: one Markdown file a note, found by words, files and links. Users edit
//! notes by hand; nothing here trusts them, and nothing deletes one.

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
