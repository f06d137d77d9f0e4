//! `/compact [focus]`: summarise old rounds now.

use super::api::Command;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, args: &str, _commands: &'static [Command]) {
    let focus = (!args.is_empty()).then(|| args.to_owned());
    app.send(Op::Compact { focus });
}
