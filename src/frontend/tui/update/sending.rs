//! Sending what was typed: at once, or after the turn.

use super::composer_keys;
use crate::tui::app::App;
use crate::tui::command::run;
use base::protocol::event::{EndReason, Event};
use base::protocol::op::Quick;

/// Whether the event ends a turn, and whether that turn did its work.
pub fn done(event: &Event) -> Option<bool> {
    match event {
        Event::TurnEnded(end) => Some(end.reason == EndReason::Done),
        Event::CommandEnded => Some(true),
        _ => None,
    }
}

/// Messages for after a turn come back to be edited if it was stopped or failed.
pub fn after_turn(app: &mut App, done: bool) {
    if done {
        send_later(app);
    } else if !app.later.is_empty() {
        take_back(app);
    }
}

fn send_later(app: &mut App) {
    while app.turn.is_none() && !app.later.is_empty() {
        let text = app.later.remove(0);
        send(app, text);
    }
}

pub fn take_back(app: &mut App) {
    let texts = std::mem::take(&mut app.later).join("\n");
    app.composer.prepend(&texts);
}

pub fn enter(app: &mut App) {
    if app.composer.take_line_continuation() {
        return;
    }
    if app.composer.text().trim().is_empty() {
        return;
    }
    app.completion = None;
    app.dismissed = None;
    let text = app.composer.take();
    send(app, text);
    if app.composer.is_empty() {
        composer_keys::unstash(app);
    }
}

fn send(app: &mut App, text: String) {
    // Bare commands aren't worth remembering.
    if !text.starts_with('/') || text.trim().contains(char::is_whitespace) {
        app.send(Quick::Remember { text: text.clone() });
    }
    if !run::run(app, &text) {
        app.submit(text);
    }
}
