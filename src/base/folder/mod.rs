//! Folders as handles: what was judged gets opened, even if its path is replaced by a link in the meantime.

pub mod atomic_write;
pub mod exact;
pub mod handle;
pub mod own;
pub mod quota;
pub mod temporary;
pub mod update;
