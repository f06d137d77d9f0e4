//! `/help`: the commands and the keys.

use super::table::COMMANDS;
use crate::tui::app::App;
use crate::tui::terminal::keymap;
use crate::tui::transcript::entry::TranscriptEntry;

/// Prints both; `keys` prints the names that keys have in `config.toml`.
pub fn show(app: &mut App, args: &str) {
    if args == "keys" {
        return app.print(TranscriptEntry::Table { heading: "Keys".to_owned(), rows: keymap::actions() });
    }
    let commands = COMMANDS.map(|command| {
        (format!("/{} {}", command.name, command.args).trim_end().to_owned(), command.help.to_owned())
    });
    app.print(TranscriptEntry::Table { heading: "Commands".to_owned(), rows: commands.into() });
    app.print(TranscriptEntry::Table { heading: "Keys".to_owned(), rows: keymap::help() });
}
