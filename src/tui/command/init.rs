//! `/init`: let the agent write the rules file; `/init no`: don't offer it again here.

use super::api::Command;
use crate::protocol::event::Level;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, args: &str, _commands: &'static [Command]) {
    match args {
        "" if app.turn.is_some() => {
            app.notice(Level::Warning, "A turn is running. Press Esc to stop it, then type /init again.");
        }
        "" => {
            app.turn_label = Some("/init");
            app.begin_turn();
            app.send(Op::Init);
        }
        "no" => {
            app.send(Op::DeclineInit);
            app.notice(
                Level::Info,
                "This project won't be asked about a rules file again. /init still writes one.",
            );
        }
        _ => app.notice(Level::Warning, "Type /init to write CODE_LAW.md, or /init no to stop the offer."),
    }
}
