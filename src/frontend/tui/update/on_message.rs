//! The reducer: a message in, changed state and commands out. No I/O, no waiting.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEvent, MouseEventKind};

use super::composer_keys::{self, TakenKey};
use super::on_popup::{popup_key, question_key, take_reply};
use super::{on_event, viewing};
use crate::tui::app::App;
use crate::tui::command::show;
use crate::tui::msg::{Cmd, Msg};
use crate::tui::pager::state::PagerKind;
use crate::tui::popup::completion::complete;
use crate::tui::render::theme::Look;
use crate::tui::terminal::key_table::{Action, EditCommand, KeyPlace};
use crate::tui::terminal::{key_name, keymap};
use base::protocol::op::{Control, Undo};
use base::text;

const WHEEL_ROWS: usize = 3;
/// How long "again to quit" is valid.
const AGAIN: Duration = Duration::from_secs(2);

pub fn update(app: &mut App, msg: Msg) -> Vec<Cmd> {
    if matches!(msg, Msg::Key(_) | Msg::Paste(_)) {
        app.typed_at = app.now;
    }
    match msg {
        Msg::Key(key) if key.kind != KeyEventKind::Release => on_key(app, key_name::canonical(key)),
        Msg::Key(_) => {}
        Msg::Paste(text) => paste(app, &text),
        Msg::Edited(text) => {
            app.composer.replace(&text);
            complete::refresh(app);
        }
        Msg::ShellWords { before, words } => complete::shell_words(app, &before, words),
        Msg::Picture(Ok(path)) => paste(app, &format!("{} ", complete::mention(&path))),
        Msg::Picture(Err(why)) => app.hint = Some(why),
        Msg::Mouse(mouse) => on_mouse(app, mouse),
        Msg::Focus(focused) => app.focused = Some(focused),
        Msg::Resize(columns, rows) => app.size = (columns, rows),
        Msg::Event(event) => {
            let done = composer_keys::turn_done(&event);
            on_event::apply(app, *event);
            done.into_iter().for_each(|done| composer_keys::after_turn(app, done));
        }
        Msg::Background(background) => app.set_look(Look { background: Some(background), ..app.look }),
        Msg::Tick => tick(app),
    }
    viewing::arrange(app);
    app.take_commands()
}

/// The wheel scrolls what is open, or opens the session. Dragging over its rows copies them.
fn on_mouse(app: &mut App, mouse: MouseEvent) {
    let step = match mouse.kind {
        MouseEventKind::ScrollUp => KeyCode::Up,
        MouseEventKind::ScrollDown => KeyCode::Down,
        MouseEventKind::Down(_) => return app.pressed = Some(mouse.row),
        MouseEventKind::Up(_) => {
            let rows = app.pressed.take().map(|row| (row.min(mouse.row), row.max(mouse.row)));
            return viewing::copy_rows(app, rows.filter(|(first, last)| first < last));
        }
        _ => return,
    };
    if app.shown_popup().is_some() {
        (0..WHEEL_ROWS).for_each(|_| popup_key(app, KeyEvent::new(step, KeyModifiers::NONE)));
    } else if step == KeyCode::Up {
        viewing::open_pager(app, PagerKind::Transcript);
    }
}

fn tick(app: &mut App) {
    app.beat = app.beat.wrapping_add(1);
    let (now, size) = (app.now, app.size);
    if let Some(reply) = app.questions.first_mut().and_then(|question| question.due(now, size)) {
        take_reply(app, reply);
    }
    if app.quit_armed.or(app.escape_armed).is_some_and(|until| until <= now) {
        (app.quit_armed, app.escape_armed, app.hint) = (None, None, None);
    }
}

fn paste(app: &mut App, text: &str) {
    (app.quit_armed, app.escape_armed, app.hint) = (None, None, None);
    let question = app.questions.first_mut().filter(|question| question.armed);
    let taken = match (question, &mut app.popup) {
        (Some(question), _) => question.paste(text),
        (None, Some(popup)) => popup.paste(text),
        (None, None) => false,
    };
    if !taken {
        composer_keys::write(app, text);
        if app.popup.is_some() {
            app.hint = Some("pasted into your message".to_owned());
        }
    }
}

fn on_key(app: &mut App, key: KeyEvent) {
    app.hint = None;
    let chord = std::mem::take(&mut app.chord);
    let still = |until: Option<Duration>| until.is_some_and(|until| app.now < until);
    let (quit_armed, escape_armed) = (still(app.quit_armed), still(app.escape_armed));
    (app.quit_armed, app.escape_armed) = (None, None);
    match keymap::action(KeyPlace::Everywhere, key) {
        Some(Action::Suspend) => return app.command(Cmd::Suspend),
        Some(Action::Redraw) => return app.command(Cmd::ClearScreen { forget: false }),
        Some(Action::FoldTodos) => {
            app.todos_folded = !app.todos_folded;
            return;
        }
        Some(Action::Transcript) => return viewing::open_pager(app, PagerKind::Transcript),
        Some(Action::Expand) => return viewing::open_pager(app, PagerKind::Outputs),
        _ => {}
    }
    if key.code == KeyCode::Tab && !app.questions.is_empty() && !app.answering() {
        return app.arm_question(true);
    }
    if app.shown_popup().is_some() {
        return popup_key(app, key);
    }
    let action = match keymap::action(KeyPlace::Composer, key) {
        Some(Action::Edit(EditCommand::LineEnd)) if chord => Some(Action::Editor),
        action => action,
    };
    app.chord = key.code == KeyCode::Char('x') && key.modifiers == KeyModifiers::CONTROL && action.is_none();
    if action == Some(Action::Cancel) {
        return cancel(app, quit_armed);
    }
    if question_key(app, key) {
        return;
    }
    match composer_keys::completion(app, key) {
        TakenKey::No => {}
        TakenKey::Yes => return,
        TakenKey::Send => return composer_keys::enter(app),
    }
    if composer_keys::vim(app, key, action) {
        return;
    }
    match action {
        Some(Action::Quit) if app.composer.is_empty() => quit(app, quit_armed),
        Some(Action::Quit) => composer_keys::change(app, EditCommand::Delete),
        Some(Action::NextMode) => app.next_mode(),
        Some(Action::Escape) => escape(app, escape_armed),
        Some(Action::Send) => composer_keys::enter(app),
        // Queued messages are taken back to be edited as one text.
        Some(Action::Edit(EditCommand::Up)) if app.composer.is_empty() && !app.later.is_empty() => {
            composer_keys::take_back(app);
        }
        Some(Action::Edit(EditCommand::Up)) if app.composer.is_empty() && !app.queued.is_empty() => {
            app.send(Control::TakeBack);
        }
        None if key.code == KeyCode::Char('?') && app.composer.is_empty() => show::keys(app),
        _ => composer_keys::edit(app, key, action),
    }
}

fn cancel(app: &mut App, quit_armed: bool) {
    if app.turn.is_some() || app.compacting.is_some() {
        app.interrupt();
    } else if !app.composer.is_empty() {
        clear(app);
    } else if quit_armed {
        app.command(Cmd::Quit);
    } else {
        app.quit_armed = Some(app.now + AGAIN);
        app.hint = Some(format!("{} again to quit", keymap::name(Action::Cancel)));
    }
}

fn clear(app: &mut App) {
    app.composer.stash();
    (app.completion, app.dismissed) = (None, None);
    app.hint = Some("cleared · Up to restore".to_owned());
}

fn quit(app: &mut App, armed: bool) {
    let jobs = app.jobs.iter().filter(|job| job.ended.is_none()).count();
    if armed || jobs == 0 {
        return app.command(Cmd::Quit);
    }
    let what = text::plural(jobs, "job");
    app.quit_armed = Some(app.now + AGAIN);
    app.hint = Some(format!("{} again to quit; this ends {what}", keymap::name(Action::Quit)));
}

fn escape(app: &mut App, armed: bool) {
    if app.turn.is_some() || app.compacting.is_some() {
        app.interrupt();
    } else if armed && app.composer.is_empty() {
        app.send(Undo::ListPoints);
    } else if armed {
        clear(app);
    } else {
        app.escape_armed = Some(app.now + AGAIN);
        let what = if app.composer.is_empty() { "rewind" } else { "clear" };
        app.hint = Some(format!("{} again to {what}", keymap::name(Action::Escape)));
    }
}

#[cfg(test)]
#[path = "update_tests.rs"]
mod tests;
