//! What happens around a call: the undo journal, changes on disk by others, and progress for the user.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::result;
use crate::control::{Events, TurnControl, notice};
use crate::hooks::tool_hooks::Hooked;
use crate::session::journal;
use base::model::call::ToolCall;
use base::model::envelope::Envelope;
use base::process::task;
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use context::session::journal::recorder::Journal;
use guard::redact::detector::TextSource;
use guard::sandbox::protected_paths;
use guard::shell::interpret::call::Call;
use tools::cx::ToolCx;
use tools::file::watch::{self, ChangedBy, DiskChanges};
use tools::ports::ProgressSink;

/// Records the files for undo. Returns `false` if interrupted: the command must not run then, as it couldn't be undone.
pub async fn before_command(cx: &ToolCx, command: &str, control: &TurnControl) -> bool {
    let Some(journal) = cx.journal.clone() else { return true };
    let stop = Arc::new(AtomicBool::new(false));
    let (looking, stopped, command) = (Arc::clone(&journal), Arc::clone(&stop), shown_title(cx, command));
    let work = task::blocking(move || looking.before_command(&command, &stopped));
    tokio::select! {
        biased;
        // Recording a huge tree takes a while, and an interrupt must not wait for it.
        () = control.cancel.cancelled() => {
            stop.store(true, Ordering::Relaxed);
            task::detached(move || journal.after_command());
            false
        }
        _ = work => {
            journal_notices(cx, &control.events);
            true
        }
    }
}

pub async fn after_command(cx: &ToolCx, events: &Events) -> Vec<String> {
    let changed = journal::ask(cx, Journal::after_command).await;
    journal_notices(cx, events);
    let acting: BTreeSet<String> = changed
        .iter()
        .filter(|path| !protected_paths::is_own_manifest(path, &cx.calls))
        .filter_map(|path| protected_paths::acts_by_name(path))
        .map(|path| path.display().to_string())
        .collect();
    if !acting.is_empty() {
        notice(events, Level::Info, texts::changed_what_acts(&acting));
    }
    changed.into_iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// Warns about a command that discards work, since nobody was asked.
pub fn tell_of_discarded(cx: &ToolCx, changed: &[String], events: &Events) {
    let discards = |call: &Call| {
        let has = |word: &str| call.args().iter().any(|arg| arg.text == word);
        match call.name() {
            "git" if has("checkout") => !has("-b") && !has("-B"),
            "git" => has("clean") || has("restore") || has("reset") && has("--hard"),
            name => name == "rm",
        }
    };
    if !changed.is_empty() && cx.calls.iter().any(discards) {
        notice(events, Level::Warning, texts::discarded(changed.len()));
    }
}

/// Warns as soon as changes can no longer be undone.
pub fn journal_notices(cx: &ToolCx, events: &Events) {
    for text in cx.journal.iter().flat_map(|journal| journal.take_notices()) {
        notice(events, Level::Warning, text);
    }
}

/// Runs the user's hooks after a call. Their file changes can be undone and are reported to the model.
pub async fn after_hooks(cx: &ToolCx, hooked: Hooked, envelope: &mut Envelope, control: &TurnControl) {
    let changes = hooked.may_change_files(envelope);
    if changes && !before_command(cx, "hooks", control).await {
        return;
    }
    hooked.after(envelope, &control.cancel).await;
    if changes {
        after_command(cx, &control.events).await;
        if let Some(news) = changed(cx, None).await {
            result::add_block(envelope, &format!("<system-reminder>{}</system-reminder>", news.text));
        }
    }
}

/// Changes on disk to files that the model has seen, by this command or by others.
pub async fn changed(cx: &ToolCx, by: Option<(&Arc<ToolCall>, &Envelope)>) -> Option<DiskChanges> {
    let by = by.map_or(ChangedBy::Others, |(call, printed)| {
        let args = call.parsed_args().unwrap_or_default();
        let command = args["command"].as_str().unwrap_or_default();
        let added = printed.body.lines().filter(|line| line.starts_with('+'));
        ChangedBy::Command(std::iter::once(command).chain(added).collect::<Vec<_>>().join("\n"))
    });
    let cx = cx.clone();
    task::blocking(move || watch::changes(&cx, &by)).await.ok().flatten()
}

pub fn waiting(cx: &ToolCx, call: &ToolCall, title: &str, events: &Events) {
    let title = shown_title(cx, title);
    let _ = events.send(Event::ToolWaiting { call_id: Arc::clone(&call.id), title });
}

pub fn started(cx: &ToolCx, call: &ToolCall, title: &str, events: &Events) {
    let _ = events.send(Event::ToolStarted {
        call_id: Arc::clone(&call.id),
        tool: Arc::clone(&call.name),
        title: shown_title(cx, title),
        args: cx.redactor.redact_args(&call.args).into(),
    });
}

pub fn ran(call: &ToolCall, events: &Events) {
    let _ = events.send(Event::ToolRan { call_id: Arc::clone(&call.id) });
}

fn shown_title(cx: &ToolCx, title: &str) -> String {
    cx.redactor.redact(title, TextSource::of_command(title)).into_owned()
}

pub fn progress(cx: &ToolCx, call: &ToolCall, events: &Events) -> ProgressSink {
    let (events, call_id) = (events.clone(), Arc::clone(&call.id));
    let (redactor, place) = (Arc::clone(&cx.redactor), TextSource::of_command(&call.args));
    Arc::new(move |tail| {
        let tail = redactor.redact(&tail, place).into_owned();
        let _ = events.send(Event::ToolProgress { call_id: Arc::clone(&call_id), tail });
    })
}
