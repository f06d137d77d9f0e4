//! What keys and slash commands both do.

use super::app::App;
use super::effects::MOST_COPIED;
use super::msg::Cmd;
use super::pager::pager::{Pager, PagerKind};
use super::popup::open::Popup;
use crate::base::text;
use crate::model::item::ItemId;
use crate::protocol::event::Level;
use crate::protocol::ledger::ContextEdit;
use crate::protocol::op::Op;

/// Asks for an edit of the context, and says so where it must wait.
pub fn edit_context(app: &mut App, edit: ContextEdit, id: ItemId) {
    app.send(Op::EditContext { edit, id });
    if app.turn.is_some() {
        app.notice(Level::Info, format!("{} {id} takes effect before the next request.", edit.as_str()));
    }
}

/// Opens the pager; where this one is open, closes it.
pub fn open_pager(app: &mut App, kind: PagerKind) {
    if matches!(&app.popup, Some(Popup::Pager(pager)) if pager.kind == kind) {
        app.popup = None;
        return;
    }
    app.popup = Some(Popup::Pager(Box::new(Pager::new(kind))));
    app.send(match kind {
        PagerKind::Transcript | PagerKind::Outputs => Op::ShowTranscript,
        PagerKind::Changes { turn } => Op::ShowChanges { turn },
    });
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
