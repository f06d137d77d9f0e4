//! Keys that belong to the composer: completion, vi's normal mode; and sending what was typed, at
//! once or after the turn.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::tui::app::App;
use crate::tui::command::{models, run};
use crate::tui::composer::vim::state::REDO;
use crate::tui::msg::Cmd;
use crate::tui::popup::completion::complete;
use crate::tui::popup::completion::state::CompletionKind;
use crate::tui::popup::list::PickList;
use crate::tui::popup::open::Popup;
use crate::tui::terminal::key_table::{Action, EditCommand, KeyPlace, ListMove};
use crate::tui::terminal::keymap;
use base::protocol::event::{EndReason, Event};
use base::protocol::op::Quick;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakenKey {
    No,
    Yes,
    /// A command was completed and should be sent at once.
    Send,
}

pub fn completion(app: &mut App, key: KeyEvent) -> TakenKey {
    let Some(completion) = &mut app.completion else { return TakenKey::No };
    if let Some(Action::List(step @ (ListMove::Up | ListMove::Down))) = keymap::action(KeyPlace::List, key) {
        completion.selection.step(step);
        return TakenKey::Yes;
    }
    match keymap::action(KeyPlace::Composer, key) {
        Some(Action::Escape) => complete::dismiss(app),
        Some(Action::Send) if matches!(completion.kind, CompletionKind::Commands) => {
            complete::accept(app);
            return TakenKey::Send;
        }
        Some(Action::Complete | Action::Send) if complete::accept(app) => {}
        _ => return TakenKey::No,
    }
    TakenKey::Yes
}

pub fn write(app: &mut App, text: &str) {
    if app.answering() {
        app.arm_question(false);
        app.popup = None;
    }
    app.composer.paste(text);
    complete::refresh(app);
}

pub fn vim(app: &mut App, key: KeyEvent, action: Option<Action>) -> bool {
    if action == Some(Action::Escape) {
        return app.composer.vim_escape();
    }
    let letter = match key.code {
        KeyCode::Backspace => Some('h'),
        KeyCode::Delete => Some('x'),
        KeyCode::Char('r') if key.modifiers - KeyModifiers::SHIFT == KeyModifiers::CONTROL => Some(REDO),
        _ => keymap::plain_char(key),
    };
    let width = app.composer_width();
    letter.is_some_and(|letter| app.composer.vim_key(letter, width))
}

pub fn edit(app: &mut App, key: KeyEvent, action: Option<Action>) {
    match action {
        Some(Action::HistorySearch) => {
            app.completion = None;
            app.popup = Some(Popup::Prompts(PickList::default()));
            app.send(Quick::ListPrompts);
        }
        Some(Action::Complete) => {
            if let Some(before) = complete::shell_command(app) {
                app.command(Cmd::CompleteShell(before));
            } else if app.turn.is_some() && !app.composer.text().trim().is_empty() {
                let text = app.composer.take();
                app.later.push(text);
                complete::refresh(app);
            }
        }
        Some(Action::Editor) => app.command(Cmd::Compose(app.composer.full_text())),
        Some(Action::Stash) => stash(app),
        Some(Action::LessEffort) => models::step_effort(app, false),
        Some(Action::MoreEffort) => models::step_effort(app, true),
        Some(Action::Background) if app.live.runs_command() => {
            app.send(Quick::Background);
            app.hint = Some("moving the command to the background".to_owned());
        }
        Some(Action::Background) => change(app, EditCommand::Left),
        Some(Action::Models) => models::models(app),
        Some(Action::PasteImage) => app.command(Cmd::PastePicture),
        _ => keymap::edit(key).into_iter().for_each(|edit| change(app, edit)),
    }
}

fn stash(app: &mut App) {
    if app.composer.is_empty() {
        unstash(app);
    } else {
        let text = app.composer.full_text();
        app.composer.stash();
        app.stashed = Some(text);
        app.hint = Some("stashed; it comes back after the next message".to_owned());
    }
    complete::refresh(app);
}

pub fn unstash(app: &mut App) {
    app.stashed.take().into_iter().for_each(|text| app.composer.restore(&text));
}

pub fn change(app: &mut App, edit: EditCommand) {
    // A command typed now, such as /model, doesn't belong to that message.
    if app
        .returned
        .take()
        .is_some_and(|text| edit == EditCommand::Insert('/') && text == app.composer.full_text())
    {
        stash(app);
    }
    let width = app.composer_width();
    app.composer.edit(edit, width);
    complete::refresh(app);
}

/// Returns whether an ended turn did its work; `None` for other events.
pub fn turn_done(event: &Event) -> Option<bool> {
    match event {
        Event::TurnEnded(end) => Some(end.reason == EndReason::Done),
        Event::CommandEnded => Some(true),
        _ => None,
    }
}

/// After a stopped or failed turn, messages for later come back to be edited.
pub fn after_turn(app: &mut App, done: bool) {
    if !done && !app.later.is_empty() {
        return take_back(app);
    }
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
        unstash(app);
    }
}

fn send(app: &mut App, mut text: String) {
    if std::mem::take(&mut app.offers_rules) {
        text = match text.trim() {
            "1" => "/init".to_owned(),
            "2" => return app.inform("/init writes one at any time."),
            "3" => "/init no".to_owned(),
            _ => text,
        };
    }
    // Bare commands aren't worth remembering.
    if !text.starts_with('/') || text.trim().contains(char::is_whitespace) {
        app.send(Quick::Remember { text: text.clone() });
    }
    if !run::run(app, &text) {
        text = run::in_full(app, text);
        app.submit(text);
    }
}
