//! `/clear` and `/quit`: commands that are one operation.

use super::api::Command;
use crate::protocol::event::Level;
use crate::protocol::op::Op;
use crate::tui::app::App;
use crate::tui::msg::Cmd;

pub fn clear(app: &mut App, _args: &str, _commands: &'static [Command]) {
    if app.turn.is_some() {
        app.notice(Level::Warning, "A turn is running. Press Esc to stop it, then type /clear again.");
    } else {
        app.send(Op::Clear);
    }
}

pub fn quit(app: &mut App, _args: &str, _commands: &'static [Command]) {
    app.command(Cmd::Quit);
}
