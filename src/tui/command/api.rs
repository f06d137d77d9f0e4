//! What a slash command is.

use crate::tui::app::App;

/// One command. `run` gets what was typed behind the name, trimmed, and the whole table (for the help).
pub struct Command {
    /// Without the slash.
    pub name: &'static str,
    /// As shown, such as `[name]`; empty when there are none.
    pub args: &'static str,
    /// One line.
    pub help: &'static str,
    pub run: fn(&mut App, &str, &'static [Command]),
}
