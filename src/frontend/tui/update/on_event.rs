//! Applies the agent's events to the screen state.

use std::sync::Arc;
use std::time::Duration;

use super::{on_lists, viewing};
use crate::tui::app::{App, RetryStatus, Silent};
use crate::tui::command::models;
use crate::tui::msg::Cmd;
use crate::tui::popup::open::Popup;
use crate::tui::popup::pickers::settings;
use crate::tui::popup::question::OpenQuestion;
use crate::tui::render::wrap;
use crate::tui::transcript::entry::TranscriptEntry;
use crate::tui::transcript::{replay, tool};
use base::model::item::Item;
use base::protocol::event::{Event, JobRow, PastPrompt, SessionInfo, TurnEnd};
use base::protocol::op::Work;

/// Without a key press for this long, a question's first choice is marked at once.
const CALM: Duration = Duration::from_millis(500);

pub fn apply(app: &mut App, event: Event) {
    match event {
        Event::Session(info) => session(app, info),
        Event::History(items) => {
            let todos = items.iter().rev().find_map(|item| match &**item {
                Item::ToolResult(result) => tool::todo_list(result),
                _ => None,
            });
            app.set_todos(todos.unwrap_or_default());
            app.last_answer = items.iter().rev().find_map(|item| match item.as_ref() {
                Item::Assistant { text, .. } => Some(Arc::clone(text)),
                _ => None,
            });
            for entry in replay::entries(&items) {
                app.print(entry);
            }
        }
        Event::TurnStarted { text } => turn_started(app, &text),
        Event::Steered { text } => {
            viewing::refresh(app);
            unqueue(app, &text);
            app.print_finished();
            app.print(TranscriptEntry::User(text.into()));
        }
        Event::TakenBack { texts } => {
            texts.iter().for_each(|text| unqueue(app, text));
            if !texts.is_empty() {
                app.composer.prepend(&texts.join("\n"));
            }
        }
        Event::CommandStarted => app.begin_turn(),
        Event::CommandEnded => {
            app.print_all();
            app.turn = None;
        }
        Event::TextDelta(delta) => {
            going_on(app);
            app.streams(Some(delta.len()));
            let line_ended = delta.contains('\n');
            app.live.text_delta(&delta);
            if line_ended {
                app.print_finished();
            }
        }
        Event::ReasoningDelta(delta) => {
            going_on(app);
            app.streams(Some(delta.len()));
            app.live.reasoning_delta(&delta);
        }
        Event::CallArriving { name, bytes } => {
            let before = app.turn.as_mut().and_then(|turn| turn.arriving.take());
            going_on(app);
            if let Some(turn) = &mut app.turn {
                // Only a call's first piece has its name.
                let known = before.map(|(name, _)| name).filter(|_| name.is_empty());
                turn.arriving = Some((known.unwrap_or(name), bytes));
            }
        }
        Event::Retrying { attempt, of, wait_ms, reason } => retrying(app, [attempt, of], wait_ms, reason),
        Event::Silent { since_ms, left_ms, alive } => {
            let since = app.now.saturating_sub(Duration::from_millis(since_ms));
            let until = left_ms.map(|left| app.now + Duration::from_millis(left));
            if let Some(turn) = &mut app.turn {
                turn.retry = None;
                turn.silent = Some(Silent { since, until, alive });
            }
        }
        Event::Item { item, .. } => finished_item(app, &item),
        Event::ToolStarted { call_id, tool, title, .. } => {
            going_on(app);
            app.waiting.retain(|(waiting, _)| *waiting != call_id);
            app.live.tool_started(call_id, tool, title);
        }
        Event::ToolProgress { call_id, tail } => app.live.tool_progress(&call_id, tail),
        Event::ToolRan { call_id } => app.live.tool(&call_id).into_iter().for_each(|view| view.ran = true),
        Event::ToolDone { result, .. } => {
            viewing::refresh(app);
            going_on(app);
            for (call_id, title) in app.waiting.extract_if(.., |(waiting, _)| *waiting == result.call_id) {
                app.live.tool_started(call_id, Arc::clone(&result.tool), title);
            }
            if let Some(todos) = tool::todo_list(&result) {
                app.set_todos(todos);
            }
            app.live.tool_done(&result);
            app.print_finished();
        }
        Event::Ask { id, question } => {
            let armed = app.composer.is_empty() && app.popup.is_none();
            // An Enter meant for something else must not approve.
            let expected = app.questions.is_empty() && app.now.saturating_sub(app.typed_at) >= CALM;
            app.completion = None;
            app.questions.push(OpenQuestion::new(id, question, armed, armed && expected));
        }
        Event::Permission(permission) => {
            if !confirmed(&mut app.permissions_sent) {
                return;
            }
            if let Some(session) = &mut app.session {
                session.permission = permission;
            }
            app.tell_permission(permission);
            if let Some(Popup::Permissions(list)) = &mut app.popup {
                settings::refresh_permissions(list, permission, None);
            }
        }
        Event::Mode(mode) => {
            let current = confirmed(&mut app.modes_sent);
            app.session.iter_mut().filter(|_| current).for_each(|session| session.mode = mode);
        }
        Event::AskClosed { id } => app.questions.retain(|question| question.id != id),
        Event::Window(window) => {
            app.window = Some(window);
            app.streams(None);
        }
        Event::Commands(rows) => app.own_commands = rows,
        Event::Prompts(prompts) => {
            if let Some(Popup::Prompts(list)) = &mut app.popup {
                let here = app.session.as_ref().map_or("", |session| &session.workspace);
                let elsewhere = |folder: String| if folder == here { String::new() } else { folder };
                let row = |row: PastPrompt| PastPrompt { folder: elsewhere(row.folder), ..row };
                list.fill(prompts.iter().cloned().map(row).collect());
            }
        }
        Event::Draft { text } if app.composer.is_empty() => {
            app.composer.restore(&text);
            app.hint = Some("draft restored".to_owned());
        }
        // The user may have started typing, so Up brings it back.
        Event::Draft { text } => app.composer.remember(&text),
        Event::Rewound(done) => {
            if done.part.conversation() {
                app.command(Cmd::ClearScreen { forget: true });
            }
            if let Some(text) = done.text.filter(|_| app.composer.is_empty()) {
                app.composer.restore(&text);
            }
        }
        Event::SomeFiles(paths) if !app.files.whole => files(app, paths),
        Event::Files(paths) => {
            (app.files.requested, app.files.whole) = (false, true);
            files(app, paths);
        }
        Event::Notice { level, text } => app.notice(level, text),
        Event::Nudge(nudge) => app.notice(base::protocol::event::Level::Info, nudge.short),
        Event::Review(review) => app.inform(format!("{}\n{}", review.short(), review.text())),
        Event::Goal(state) => on_lists::goal(app, state),
        Event::Jobs(rows) => jobs(app, rows),
        Event::SandboxLacks(missing) => app.sandbox_lacks = Some(missing),
        Event::Compacting { running } => app.compacting = running.then_some(app.now),
        Event::TurnEnded(end) => turn_ended(app, end),
        Event::ToolWaiting { call_id, title } => app.waiting.push((call_id, title)),
        event => on_lists::apply(app, event),
    }
}

fn confirmed(sent: &mut u32) -> bool {
    *sent = sent.saturating_sub(1);
    *sent == 0
}

fn files(app: &mut App, paths: Arc<[String]>) {
    if let Some(completion) = &mut app.completion {
        completion.set_paths(&paths);
    }
    app.files.paths = Some(paths);
}

/// Announces each ended job once, because the user may be waiting for it.
fn jobs(app: &mut App, rows: Vec<JobRow>) {
    for row in &rows {
        let ran = app.jobs.iter().any(|before| before.id == row.id && before.ended.is_none());
        if let Some(ended) = row.ended.as_deref().filter(|_| ran) {
            let command = wrap::one_line(&row.command, 100);
            if ended.starts_with("stopped") {
                app.inform(format!("Job {} was stopped: {command}", row.id));
            } else {
                app.inform(format!("Job {} ended ({ended}): {command}", row.id));
                app.send(Work::Reports);
            }
        }
    }
    if let Some(Popup::Jobs(picker)) = &mut app.popup {
        picker.list.fill(rows.clone());
    }
    app.jobs = rows;
}

fn session(app: &mut App, mut info: SessionInfo) {
    // Without a model, nothing could write the file.
    info.offer_init &= info.has_model();
    let before = app.session.replace(info.clone());
    match before {
        None => {
            if !info.has_model() && app.turn.is_none() && app.composer.is_empty() {
                models::login(app, "");
            } else if std::mem::take(&mut app.picks_model) {
                models::models(app);
            }
            app.offers_rules = info.offer_init;
            app.print(TranscriptEntry::Welcome(info));
        }
        Some(before) if before.id != info.id => {
            end_turn(app);
            app.todos.clear();
            app.compacting = None;
            app.window = None;
            app.popup = None;
            app.queued.clear();
            if before.workspace != info.workspace {
                app.files = Default::default();
            }
            app.command(Cmd::ClearScreen { forget: false });
            app.inform(format!("──── session {} ────", info.id));
        }
        Some(before) => {
            if before.model != info.model {
                app.inform(format!("Model: {}.", info.model));
            }
            if let Some(level) = info.effort.as_ref().filter(|_| before.effort != info.effort) {
                app.inform(format!("Effort: {level}."));
            }
            if before.permission != info.permission {
                app.inform(format!("Permission level: {}.", info.permission.into_str()));
            }
        }
    }
}

fn turn_started(app: &mut App, text: &str) {
    viewing::refresh(app);
    unqueue(app, text);
    let started = app.turn.as_ref().map_or(app.now, |turn| turn.started);
    app.begin_turn();
    if let Some(turn) = &mut app.turn {
        turn.started = started;
    }
    match app.turn_label {
        Some(label) => app.print(TranscriptEntry::User(label.into())),
        None if text.is_empty() => {}
        None => app.print(TranscriptEntry::User(text.into())),
    }
}

fn unqueue(app: &mut App, text: &str) {
    let known = app.queued.iter().position(|queued| queued == text);
    // A message with a secret comes back redacted, so it can't be compared; messages are taken in order.
    let redacted = text.contains("<REDACTED") && !app.queued.is_empty();
    if let Some(index) = known.or_else(|| redacted.then_some(0)) {
        app.queued.remove(index);
    }
}

fn going_on(app: &mut App) {
    if let Some(turn) = &mut app.turn {
        turn.retry = None;
        turn.silent = None;
        turn.arriving = None;
    }
}

fn retrying(app: &mut App, [attempt, of]: [u32; 2], wait_ms: u64, reason: String) {
    app.print_finished();
    let parts = app.live.void();
    if parts > 0 {
        app.command(Cmd::Withdraw(parts));
        if app.turn.as_mut().is_some_and(|turn| !std::mem::replace(&mut turn.begun_again, true)) {
            app.inform("Connection lost; the reply begins again.");
        }
    }
    let at = app.now + Duration::from_millis(wait_ms);
    if let Some(turn) = &mut app.turn {
        turn.arriving = None;
        turn.silent = None;
        turn.retry = Some(RetryStatus { attempt, of, at, reason });
    }
}

fn finished_item(app: &mut App, item: &Item) {
    viewing::refresh(app);
    going_on(app);
    match item {
        Item::Assistant { text, .. } => {
            app.last_answer = Some(Arc::clone(text));
            app.live.finish_answer(text);
        }
        Item::Reasoning(reasoning) => app.live.finish_reasoning(&reasoning.text),
        _ => return,
    }
    app.turn.iter_mut().for_each(|turn| turn.begun_again = false);
    app.print_finished();
}

fn end_turn(app: &mut App) {
    app.print_all();
    app.turn = None;
    app.waiting.clear();
    app.questions.clear();
}

fn turn_ended(app: &mut App, end: TurnEnd) {
    viewing::refresh(app);
    end_turn(app);
    let label = app.turn_label.take();
    if let Some(text) = end.reason.returned() {
        let lines = format!("\n{text}\n");
        app.queued.retain(|queued| !lines.contains(&format!("\n{queued}\n")));
        match app.composer.is_empty() || app.composer.text() == text {
            true => {
                app.composer.restore(label.unwrap_or(text));
                app.returned = Some(app.composer.full_text());
            }
            false => app.composer.prepend(label.unwrap_or(text)),
        }
    }
    app.print(TranscriptEntry::TurnEnd(end));
}
