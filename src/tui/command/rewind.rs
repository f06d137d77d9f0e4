//! `/rewind`: go back to before a turn, with the conversation, the files, or both.

use super::api::Command;
use crate::protocol::event::Level;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, _args: &str, _commands: &'static [Command]) {
    if app.turn.is_some() {
        app.notice(Level::Warning, "A turn is running. Press Esc to stop it, then type /rewind again.");
    } else {
        app.send(Op::ListPoints);
    }
}
