//! The undo journal: what tools and commands changed in the workspace, turn by turn, with the previous bytes.
//! It contains unredacted content, so it stays in private folders and is never exported.

pub mod blobs;
pub mod git;
pub mod hunks;
pub mod inspect;
pub mod record;
pub mod recorder;
pub mod restore;
pub mod snapshot;
