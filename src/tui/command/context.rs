//! `/context`: what fills the window; `/context why|pin|unpin|drop|restore ID` for one item.

use super::api::Command;
use crate::protocol::event::Level;
use crate::protocol::ledger::{self, ContextEdit};
use crate::protocol::op::Op;
use crate::tui::app::App;
use crate::tui::popup::context::ContextPopup;

const USAGE: &str = "Type /context, or /context why, pin, unpin, drop or restore with an item's number, such as /context why 12.";

pub fn run(app: &mut App, args: &str, _commands: &'static [Command]) {
    if args.is_empty() {
        app.context = Some(ContextPopup::default());
        return app.send(Op::ShowContext);
    }
    let (verb, id) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let id = id.trim();
    if verb == "why" && !id.is_empty() {
        return app.send(Op::Explain { id: id.to_owned() });
    }
    let edit = [ContextEdit::Pin, ContextEdit::Unpin, ContextEdit::Drop, ContextEdit::Restore]
        .into_iter()
        .find(|edit| edit.as_str() == verb);
    match (edit, ledger::item_id(id)) {
        (Some(edit), Some(id)) => app.edit_context(edit, id),
        _ => app.notice(Level::Warning, USAGE),
    }
}
