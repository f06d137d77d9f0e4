//! The blocks with the files that a new task seems to concern, and with earlier work on it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::session::conversation::Conversation;
use crate::turn::additions::notes;
use crate::work::earlier;
use base::model::item::Item;
use base::process::task;
use base::sanitize;
use evidence::task_context::DEFAULT_MAX_CHARS;
use tools::cx::ToolCx;

/// 3% of the window at about four characters per token.
const CHARS_PER_WINDOW_TOKEN: f64 = 0.03 * 4.0;

const EARLIER: usize = 3;

/// What isn't ready within `timeout` is left out until the next task; without a `timeout` there is no block.
pub async fn block(
    text: &str,
    timeout: Option<Duration>,
    conversation: &Conversation,
    cx: &ToolCx,
    window_tokens: u64,
) -> Option<String> {
    let timeout = timeout?;
    let retriever = cx.evidence.clone()?;
    if !retriever.is_new_task(text) {
        return None;
    }
    let (asked, task) = (Arc::clone(&retriever), text.to_owned());
    let work = task::blocking(move || asked.task_context(&task));
    let found = tokio::time::timeout(timeout, work).await.ok()?.ok()?;
    retriever.remember(text);
    let mut found = found?;
    let shown = notes::shown(conversation);
    found.hints.retain(|hint| !notes::hint_mark(hint).is_some_and(|mark| shown.contains(mark)));
    if found.is_empty() {
        return None;
    }
    let most_chars = (window_tokens as f64 * CHARS_PER_WINDOW_TOKEN) as usize;
    let body = sanitize::as_data(&found.serialize(most_chars.min(DEFAULT_MAX_CHARS)));
    let block = format!(
        "<task-context>Files this task may be about, likeliest first (from words, names and git; check).\n{body}\n</task-context>"
    );
    let is_known = conversation.state.history.entries().iter().any(|entry| match &*entry.item {
        Item::User(message) => message.injected.iter().any(|known| **known == *block),
        _ => false,
    });
    (!is_known).then_some(block)
}

/// Changes by other sessions that clearly relate to the task. Reads the disk.
pub fn earlier_work(log: &Path, task: &str) -> Option<String> {
    let lines = sanitize::as_data(&earlier::lines(log, task, true, EARLIER).join("\n"));
    (!lines.is_empty())
        .then(|| format!("<system-reminder>Earlier work here that may matter:\n{lines}</system-reminder>"))
}
