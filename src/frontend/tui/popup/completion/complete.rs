//! Opens, refreshes, accepts and closes completions. The only popup file that knows the app.

use super::commands::CommandsPopup;
use super::files::{self, FilesPopup};
use super::shell_words::{self, ShellWords};
use super::state::Completion;
use crate::tui::app::App;
use base::protocol::op::Op;

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

/// Closes the completion until a new token starts.
pub fn dismiss(app: &mut App) {
    app.dismissed = match app.completion.take() {
        Some(Completion::Files(popup)) => Some(popup.token.at),
        Some(Completion::Commands(_)) => Some(0),
        Some(Completion::Shell(_)) | None => None,
    };
}

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
        Some(Completion::Shell(popup)) => {
            let Some(word) = popup.chosen() else { return false };
            let at = popup.at;
            app.composer.complete(at, &word);
            refresh(app);
            true
        }
        None => false,
    }
}

/// The text of a `!command` up to the cursor, for Tab completion.
pub fn shell_command(app: &App) -> Option<String> {
    let before = &app.composer.text()[..app.composer.cursor()];
    before.starts_with('!').then(|| before.to_owned())
}

/// Inserts the only completion or the common prefix; otherwise shows the list.
pub fn shell_words(app: &mut App, before: &str, words: Vec<String>) {
    if shell_command(app).as_deref() != Some(before) {
        return;
    }
    let (at, _) = shell_words::last_word(before);
    match words.as_slice() {
        [] => app.hint = Some("nothing to complete".to_owned()),
        [word] => app.composer.complete(at, &shell_words::insertion(word)),
        words => {
            let common = shell_words::insertion(shell_words::common(words));
            if common.trim_end().len() > before.len() - at {
                app.composer.complete(at, common.trim_end());
            }
            app.completion = Some(Completion::Shell(ShellWords::new(at, words.to_vec())));
        }
    }
}

pub fn mention(path: &str) -> String {
    FilesPopup::insertion(path).trim_end().to_owned()
}

/// For a composer with a single word that starts with `/`.
fn command_popup(app: &App) -> Option<CommandsPopup> {
    let text = app.composer.text();
    let typed = text.strip_prefix('/')?;
    if app.composer.cursor() != text.len() || typed.contains(char::is_whitespace) {
        return None;
    }
    CommandsPopup::new(typed, &app.own_commands)
}
