//! What stands around a call: the undo journal, changes on disk that others made, and what the user sees meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::result;
use crate::control::{Events, TurnControl, notice};
use crate::hooks::tool_hooks::{self, Hooked, SharedHooks};
use base::model::call::ToolCall;
use base::model::envelope::Envelope;
use base::protocol::event::{Event, Level};
use guard::redact::detector::TextSource;
use tools::cx::ToolCx;
use tools::file::watch::{self, ChangedBy};
use tools::ports::ProgressSink;

/// Has the undo journal look at the files; false when the user interrupts that, and then the command must not run:
/// what it would change could not be brought back.
pub async fn before_command(cx: &ToolCx, command: &str, control: &TurnControl, events: &Events) -> bool {
    let Some(journal) = cx.journal.clone() else { return true };
    let stop = Arc::new(AtomicBool::new(false));
    let (looking, stopped, command) = (Arc::clone(&journal), Arc::clone(&stop), command.to_owned());
    let work = tokio::task::spawn_blocking(move || looking.before_command(&command, &stopped));
    tokio::select! {
        biased;
        // It may take a moment in a huge tree; who interrupts does not wait for it.
        () = control.cancel.cancelled() => {
            stop.store(true, Ordering::Relaxed);
            tokio::task::spawn_blocking(move || journal.after_command());
            false
        }
        _ = work => {
            journal_notices(cx, events);
            true
        }
    }
}

/// Has the undo journal keep what the command changed.
pub async fn after_command(cx: &ToolCx, events: &Events) {
    let Some(journal) = cx.journal.clone() else { return };
    let _ = tokio::task::spawn_blocking(move || journal.after_command()).await;
    journal_notices(cx, events);
}

fn journal_notices(cx: &ToolCx, events: &Events) {
    for text in cx.journal.iter().flat_map(|journal| journal.take_notices()) {
        notice(events, Level::Warning, text);
    }
}

/// Tells the user's hooks of a call that ran. What they change in files can be undone, and the model is told.
pub async fn after_hooks(
    cx: &ToolCx,
    hooks: &SharedHooks,
    hooked: Hooked,
    envelope: &mut Envelope,
    control: &TurnControl,
    events: &Events,
) {
    let changes = tool_hooks::may_change_files(hooks, envelope);
    if changes && !before_command(cx, "hooks", control, events).await {
        return;
    }
    tool_hooks::after(hooks, hooked, envelope, &control.cancel).await;
    if changes {
        after_command(cx, events).await;
        if let Some(news) = changed(cx, false).await {
            result::add_block(envelope, &format!("<system-reminder>{news}</system-reminder>"));
        }
    }
}

/// What the command that has just run changed on disk of what the model has seen, or others.
pub async fn changed(cx: &ToolCx, by_command: bool) -> Option<String> {
    let by = if by_command { ChangedBy::Command } else { ChangedBy::Others };
    let cx = cx.clone();
    tokio::task::spawn_blocking(move || watch::changes(&cx, by)).await.ok().flatten()
}

/// A title without secrets.
pub fn shown_title(cx: &ToolCx, title: &str) -> String {
    cx.redactor.redact(title, TextSource::of_command(title)).into_owned()
}

/// Shows the last lines of a call's output while it runs.
pub fn progress(cx: &ToolCx, call: &ToolCall, events: &Events) -> ProgressSink {
    let (events, call_id) = (events.clone(), Arc::clone(&call.id));
    let (redactor, place) = (Arc::clone(&cx.redactor), TextSource::of_command(&call.args));
    Arc::new(move |tail| {
        let tail = redactor.redact(&tail, place).into_owned();
        let _ = events.send(Event::ToolProgress { call_id: Arc::clone(&call_id), tail });
    })
}
