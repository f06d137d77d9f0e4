//! The port through which what was learned on other days (notes) comes into a task's context. Who keeps notes implements
//! it; nothing here knows how they are kept.

use super::keywords::Keyword;
use super::packet::ContextPacket;

/// Hints in one task context, at most.
pub const MAX_HINTS: usize = 10;

/// Somebody who may know something about the task.
pub trait HintSource: Send + Sync {
    /// The name for notices.
    fn name(&self) -> &str;

    /// What it knows: for these keywords and these files (relative paths).
    ///
    /// # Errors
    /// A sentence; the source is then left out and the user told.
    fn hints(&self, keywords: &[Keyword], files: &[String]) -> Result<Vec<ContextPacket>, String>;
}
