//! The block behind a new task that names the files it seems to be about. A turn waits for it no longer than a model takes
//! for its first word: only the first task in a project without an index waits at all, and what is not ready in time is
//! left out, and ready for the next task.

use std::sync::Arc;

use super::note_hints;
use crate::agent::core::Core;
use crate::base::sanitize;
use crate::evidence::task_context::DEFAULT_MAX_CHARS;

/// Characters per token of the window: three in a hundred tokens, at about four characters each.
const CHARS_PER_WINDOW_TOKEN: f64 = 0.03 * 4.0;

impl Core {
    /// The block for `text`, if it begins a task that the project knows something about.
    pub async fn task_context(&self, text: &str) -> Option<String> {
        let patience = self.task_context?;
        let desk = self.dispatcher.cx.evidence.clone()?;
        if !desk.is_new_task(text) {
            return None;
        }
        let (asked, task) = (Arc::clone(&desk), text.to_owned());
        let work = tokio::task::spawn_blocking(move || asked.task_context(&task));
        let found = tokio::time::timeout(patience, work).await.ok()?.ok()?;
        desk.remember(text);
        let cap = (self.context.window_tokens as f64 * CHARS_PER_WINDOW_TOKEN) as usize;
        let mut found = found?;
        let shown = self.shown_notes();
        found.hints.retain(|hint| !note_hints::mark(hint).is_some_and(|mark| shown.contains(mark)));
        if found.is_empty() {
            return None;
        }
        let body = sanitize::as_data(&found.serialize(cap.min(DEFAULT_MAX_CHARS)));
        Some(format!(
            "<task-context>Files that this task may be about, found by words, names and git; check before relying on it.\n{body}\n</task-context>"
        ))
    }
}
