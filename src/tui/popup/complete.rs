//! Opens, refreshes, accepts and closes completions as the composer changes. The one popup file that knows the app.

use super::commands::CommandsPopup;
use super::files::{self, FilesPopup};
use crate::protocol::op::Op;
use crate::tui::app::{App, Completion};

/// Fits the open completion to the composer's text, opens or closes it.
pub fn refresh(app: &mut App) {
    if let Some(popup) = command_popup(app) {
        if app.dismissed == Some(0) {
            return;
        }
        match &mut app.completion {
            Some(Completion::Commands(open)) => open.refresh(popup),
            _ => app.completion = Some(Completion::Commands(popup)),
        }
        return;
    }
    let Some(token) = files::token(app.composer.text(), app.composer.cursor()) else {
        app.completion = None;
        app.dismissed = None;
        return;
    };
    if app.dismissed == Some(token.at) {
        app.completion = None;
        return;
    }
    let opens = !matches!(app.completion, Some(Completion::Files(_)));
    if opens && !app.files.requested {
        app.files.requested = true;
        app.send(Op::ListFiles);
    }
    match &mut app.completion {
        Some(Completion::Files(open)) => open.set_token(token),
        _ => app.completion = Some(Completion::Files(FilesPopup::new(token, app.files.paths.clone()))),
    }
}

/// Closes the completion until another token is begun.
pub fn dismiss(app: &mut App) {
    app.dismissed = match app.completion.take() {
        Some(Completion::Files(popup)) => Some(popup.token.at),
        Some(Completion::Commands(_)) => Some(0),
        None => None,
    };
}

/// Puts the choice into the text; `false` when there is none.
pub fn accept(app: &mut App) -> bool {
    match &app.completion {
        Some(Completion::Files(popup)) => {
            let Some(path) = popup.chosen() else { return false };
            let insertion = FilesPopup::insertion(path);
            let at = popup.token.at;
            app.composer.complete(at, &insertion);
            refresh(app);
            true
        }
        Some(Completion::Commands(popup)) => {
            let Some(offer) = popup.chosen() else { return false };
            app.composer.complete(0, &format!("/{} ", offer.name));
            refresh(app);
            true
        }
        None => false,
    }
}

/// A file's path as the composer takes it.
pub fn mention(path: &str) -> String {
    FilesPopup::insertion(path).trim_end().to_owned()
}

/// The commands for a composer that holds one word beginning with `/`.
fn command_popup(app: &App) -> Option<CommandsPopup> {
    let text = app.composer.text();
    let typed = text.strip_prefix('/')?;
    if app.composer.cursor() != text.len() || typed.contains(char::is_whitespace) {
        return None;
    }
    CommandsPopup::new(typed)
}
