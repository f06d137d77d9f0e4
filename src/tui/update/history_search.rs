//! Keys of the history search.

use crossterm::event::KeyEvent;

use crate::protocol::op::Op;
use crate::tui::app::App;
use crate::tui::popup::complete;
use crate::tui::popup::history::HistorySearch;
use crate::tui::terminal::key_table::{Action, EditCommand, ListMove, Place};
use crate::tui::terminal::keymap;

pub fn open(app: &mut App) {
    app.completion = None;
    app.search = Some(HistorySearch::default());
    app.send(Op::ListPrompts);
}

/// Takes a key; the composer stays as it was until a prompt is taken.
pub fn key(app: &mut App, key: KeyEvent) {
    let Some(search) = &mut app.search else { return };
    match keymap::action(Place::Composer, key) {
        // As in a shell: once more is the next older one.
        Some(Action::HistorySearch | Action::Edit(EditCommand::Down)) => {
            search.selection.step(ListMove::Down);
        }
        Some(Action::Edit(EditCommand::Up)) => {
            search.selection.step(ListMove::Up);
        }
        Some(Action::Send | Action::Complete) => {
            if let Some(text) = search.chosen().map(str::to_owned) {
                app.composer.replace(&text);
            }
            app.search = None;
            complete::refresh(app);
        }
        Some(Action::Escape | Action::Cancel | Action::Editor) => app.search = None,
        _ => match keymap::edit(key) {
            Some(edit) => search.edit(edit),
            None => drop(search.selection.key(key)),
        },
    }
}
