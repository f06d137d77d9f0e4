//! What several keys and commands do to what is seen: the pager, the clipboard, the colors.

use crate::tui::app::App;
use crate::tui::effects::MOST_COPIED;
use crate::tui::msg::Cmd;
use crate::tui::pager::kind::PagerKind;
use crate::tui::pager::state::Pager;
use crate::tui::popup::open::Popup;
use crate::tui::render::theme::{Background, Look};
use base::config::theme::ThemeName;
use base::model::item::ItemId;
use base::protocol::event::Level;
use base::protocol::ledger::ContextEdit;
use base::protocol::op::Op;
use base::text;

/// The whole session.
pub fn open_transcript(app: &mut App) {
    open_pager(app, PagerKind::Transcript);
}

/// The last output in full.
pub fn open_outputs(app: &mut App) {
    open_pager(app, PagerKind::Outputs);
}

/// What the session, or its last turn, changed.
pub fn open_changes(app: &mut App, turn: bool) {
    open_pager(app, PagerKind::Changes { turn });
}

/// Where this pager is open, closes it.
fn open_pager(app: &mut App, kind: PagerKind) {
    if matches!(&app.popup, Some(Popup::Pager(pager)) if pager.kind == kind) {
        app.popup = None;
        return;
    }
    app.popup = Some(Popup::Pager(Box::new(Pager::new(kind))));
    refresh(app);
}

/// The session has gone on: what is read in the pager does too.
pub fn refresh(app: &mut App) {
    if let Some(Popup::Pager(pager)) = &mut app.popup
        && let Some(op) = pager.ask()
    {
        app.send(op);
    }
}

/// The transcript of a sub-agent, over that of the session.
pub fn open_agent(app: &mut App, agent: String) {
    let before = match app.popup.take() {
        Some(Popup::Pager(before)) => Some(before),
        _ => None,
    };
    app.popup = Some(Popup::Pager(Box::new(Pager::of_agent(agent, before))));
    refresh(app);
}

/// Closes the popup; below a sub-agent's transcript is that of the session.
pub fn close(app: &mut App) {
    let before = match &mut app.popup {
        Some(Popup::Pager(pager)) => pager.before.take(),
        _ => None,
    };
    app.popup = before.map(Popup::Pager);
}

/// Lays the pager out, after whatever has changed it.
pub fn arrange(app: &mut App) {
    let (size, theme) = (app.size, app.theme);
    if let Some(Popup::Pager(pager)) = &mut app.popup {
        pager.arrange(size, theme);
    }
}

/// Puts `text` into the terminal's clipboard, and says so.
pub fn copy(app: &mut App, text: String) {
    let size = text::human_bytes(text.len() as u64);
    let message = if text.len() > MOST_COPIED {
        format!("{size} is too long for the terminal's clipboard; /export writes a file")
    } else {
        app.command(Cmd::Copy(text));
        format!("copied {size}")
    };
    match &mut app.popup {
        Some(Popup::Pager(pager)) => pager.say(&message),
        _ => app.hint = Some(message),
    }
}

/// Draws in this theme, and keeps it for the user.
pub fn choose_theme(app: &mut App, name: ThemeName, keep: bool) {
    app.set_look(Look { name, ..app.look });
    if keep {
        app.command(Cmd::KeepTheme(name));
        app.hint = Some(format!("theme: {}", name.as_str()));
    }
}

/// The terminal has said what it draws on.
pub fn set_background(app: &mut App, background: Background) {
    app.set_look(Look { background: Some(background), ..app.look });
}

/// Asks for an edit of the context, and says so where it must wait.
pub fn edit_context(app: &mut App, edit: ContextEdit, id: ItemId) {
    app.send(Op::EditContext { edit, id });
    if app.turn.is_some() {
        app.notice(Level::Info, format!("{} {id} takes effect before the next request.", edit.as_str()));
    }
}
