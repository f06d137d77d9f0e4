//! Folders as handles: what was judged is what is opened, whoever exchanges a part of its path for a link meanwhile.

pub mod atomic_write;
pub mod exact;
pub mod handle;
pub mod no_links;
pub mod temporary;
