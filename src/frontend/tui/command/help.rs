//! `/help`: commands, special first characters, and keys.

use super::table::COMMANDS;
use crate::tui::app::App;
use crate::tui::terminal::keymap;

const SIGNS: [(&str, &str); 4] = [
    ("/command", "run a command; your own: .mycode/commands/*.md, .claude/commands"),
    ("!command", "run it in your shell; what it prints goes into the context"),
    ("#text", "keep it as a rule or a note"),
    ("@file", "name a file"),
];

/// `/help keys` prints the key names for `config.toml`.
pub fn show(app: &mut App, args: &str) {
    if args == "keys" {
        return app.table("Keys", keymap::actions());
    }
    let commands = COMMANDS.map(|command| {
        (format!("/{} {}", command.name, command.args).trim_end().to_owned(), command.help.to_owned())
    });
    let own = app.own_commands.iter().map(|command| {
        (format!("/{} {}", command.name, command.args).trim_end().to_owned(), command.help.clone())
    });
    let rows = commands.into_iter().chain(own).collect();
    app.table("Commands", rows);
    let signs = SIGNS.map(|(sign, text)| (sign.to_owned(), text.to_owned()));
    app.table("Input", signs.into());
    app.table("Keys", keymap::help());
}
