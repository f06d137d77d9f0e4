//! `/uncompact`: take the last compaction back.

use super::api::Command;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, _args: &str, _commands: &'static [Command]) {
    app.send(Op::Uncompact);
}
