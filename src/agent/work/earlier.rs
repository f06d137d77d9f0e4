//! What earlier sessions changed: saved after each turn that changed files, and shown if a new task clearly
//! relates to it.

use std::path::Path;
use std::sync::Arc;

use crate::session::conversation::Conversation;
use base::model::item::Item;
use base::process::task;
use base::search::words;
use context::session::outcomes::{self, TurnOutcome};
use evidence::terms::translate;
use guard::redact::detector::TextSource;
use tools::cx::ToolCx;

/// A task with fewer meaningful words continues the one before it.
const SHORT_TASK_WORDS: usize = 3;

/// With `clear`, only what clearly relates to the text. Reads the disk.
pub fn lines(log: &Path, text: &str, clear: bool, most: usize) -> Vec<String> {
    let Some(state) = log.parent().and_then(Path::parent) else { return Vec::new() };
    let session = log.file_stem().unwrap_or_default().to_string_lossy();
    let found = outcomes::find(state, &session, &translate::concepts(text), clear, most);
    found.iter().map(TurnOutcome::line).collect()
}

fn is_short(task: &str) -> bool {
    words::telling(task).len() < SHORT_TASK_WORDS
}

/// Saves what the turn changed, if anything. A failure only loses the record.
pub async fn keep(conversation: &Conversation, cx: &ToolCx) {
    let work = &conversation.facts.work;
    let changed: Vec<String> = work.changes().into_iter().rev().map(|(_, path)| path.to_owned()).collect();
    let log = conversation.log_path();
    let (Some(state), Some(session)) = (log.parent().and_then(Path::parent), log.file_stem()) else { return };
    if changed.is_empty() {
        return;
    }
    let entries = conversation.state.history.entries();
    let mut messages = entries.iter().rev().filter_map(|entry| match &*entry.item {
        Item::User(message) if !message.steering => Some(&*message.text),
        _ => None,
    });
    let mut task = messages.next().unwrap_or_default().to_owned();
    // "Go on" means nothing in another session.
    if is_short(&task)
        && let Some(before) = messages.find(|text| !is_short(text))
    {
        task = format!("{task} (after: {before})");
    }
    let answer = entries.iter().rev().find_map(|entry| match &*entry.item {
        Item::Assistant { text, .. } => Some(&**text),
        _ => None,
    });
    let check = work
        .checks()
        .next_back()
        .filter(|run| run.started >= work.turn_start())
        .map(|run| format!("{} {}", run.check.name, run.word()));
    let clean = |text: &str| cx.redactor.redact(text, TextSource::Text).into_owned();
    let outcome = TurnOutcome::new(
        &session.to_string_lossy(),
        &clean(&task),
        changed,
        check,
        &clean(answer.unwrap_or_default()),
    );
    let state = Arc::<Path>::from(state);
    let _ = task::blocking(move || outcomes::append(&state, &outcome)).await;
}
