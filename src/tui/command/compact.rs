//! `/compact [focus]`: summarize old rounds now. `/compact auto on|off`: whether that happens by itself.

use super::api::Command;
use crate::protocol::op::Op;
use crate::tui::app::App;

pub fn run(app: &mut App, args: &str, _commands: &'static [Command]) {
    let words: Vec<&str> = args.split_whitespace().collect();
    match words.as_slice() {
        ["auto", "on"] => app.send(Op::AutoCompact { on: true }),
        ["auto", "off"] => app.send(Op::AutoCompact { on: false }),
        _ => app.send(Op::Compact { focus: (!args.is_empty()).then(|| args.to_owned()) }),
    }
}
