//! View changes shared by keys and commands: pager, clipboard, colors.

use crate::tui::app::App;
use crate::tui::effects::MOST_COPIED;
use crate::tui::msg::Cmd;
use crate::tui::pager::state::{Pager, PagerKind};
use crate::tui::popup::open::Popup;
use crate::tui::render::theme::Look;
use base::config::theme::ThemeName;
use base::model::item::ItemId;
use base::protocol::ledger::ContextEdit;
use base::protocol::op::Control;
use base::text;

pub fn open_pager(app: &mut App, kind: PagerKind) {
    if matches!(&app.popup, Some(Popup::Pager(pager)) if pager.kind == kind) {
        return close(app);
    }
    app.popup = Some(Popup::Pager(Box::new(Pager::new(kind))));
    app.arm_question(false);
    refresh(app);
}

pub fn refresh(app: &mut App) {
    if let Some(Popup::Pager(pager)) = &mut app.popup
        && let Some(op) = pager.ask()
    {
        app.send(op);
    }
}

pub fn open_agent(app: &mut App, agent: String) {
    let before = match app.popup.take() {
        Some(Popup::Pager(before)) => Some(before),
        _ => None,
    };
    app.popup = Some(Popup::Pager(Box::new(Pager::of_agent(agent, before))));
    refresh(app);
}

/// A sub-agent's transcript returns to the pager below.
pub fn close(app: &mut App) {
    let before = match &mut app.popup {
        Some(Popup::Pager(pager)) => pager.before.take(),
        _ => None,
    };
    app.popup = before.map(Popup::Pager);
    app.arm_question(app.popup.is_none() && app.composer.is_empty());
}

pub fn arrange(app: &mut App) {
    let (size, theme) = (app.size, app.theme);
    if let Some(Popup::Pager(pager)) = &mut app.popup {
        pager.arrange(size, theme);
    }
}

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

/// The screen's rows, counted from 0, as far as an open pager fills them.
pub fn copy_rows(app: &mut App, rows: Option<(u16, u16)>) {
    if let (Some((first, last)), Some(Popup::Pager(pager))) = (rows, &app.popup) {
        let text = pager.rows_text(usize::from(first), usize::from(last));
        copy(app, text);
    }
}

pub fn choose_theme(app: &mut App, name: ThemeName, keep: bool) {
    app.set_look(Look { name, ..app.look });
    if keep {
        app.command(Cmd::KeepTheme(name));
        app.hint = Some(format!("theme: {}", name.into_str()));
    }
}

pub fn edit_context(app: &mut App, edit: ContextEdit, id: ItemId) {
    app.send(Control::EditContext { edit, id });
    if app.turn.is_some() {
        app.inform(format!("{} {id} takes effect before the next request.", edit.into_str()));
    }
}
