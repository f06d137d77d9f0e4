//! `/resume [id]`: continue another session; without id, choose from a list.

use super::api::Command;
use crate::protocol::event::Level;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, args: &str, _commands: &'static [Command]) {
    if app.turn.is_some() {
        app.notice(Level::Warning, "A turn is running. Press Esc to stop it, then type /resume again.");
    } else if args.is_empty() {
        app.send(Op::ListSessions);
    } else {
        app.send(Op::Resume { session: args.to_owned() });
    }
}
