//! `/recall ID|QUERY`: the original of an item, or a search in this session.

use super::api::Command;
use crate::protocol::event::Level;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, args: &str, _commands: &'static [Command]) {
    if args.is_empty() {
        app.notice(Level::Info, "/recall 12 shows item #12 whole; /recall WORDS searches this session.");
    } else {
        app.send(Op::Recall { what: args.to_owned() });
    }
}
