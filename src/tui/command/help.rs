//! `/help`: the table of commands and the keys.

use super::api::Command;
use crate::tui::app::App;
use crate::tui::transcript::entry::Entry;

/// Keys worth knowing.
const KEYS: [(&str, &str); 9] = [
    ("Enter", "send; while a turn runs, steer it"),
    ("Shift+Enter", "line break (also Alt+Enter, Ctrl-J, or \\ before Enter)"),
    ("Esc, Ctrl-C", "interrupt the running turn"),
    ("Esc Esc", "clear the line; on an empty line: go back (/rewind)"),
    ("@", "complete a file name"),
    ("Up, Down", "lines, then earlier prompts"),
    ("Ctrl-_", "undo"),
    ("Ctrl-A E K U W", "start, end, cut to end, cut to start, cut word"),
    ("Ctrl-C, Ctrl-D", "on an empty line: quit (Ctrl-C twice)"),
];

pub fn run(app: &mut App, _args: &str, commands: &'static [Command]) {
    let rows = commands
        .iter()
        .map(|command| {
            (format!("/{} {}", command.name, command.args).trim_end().to_owned(), command.help.to_owned())
        })
        .collect();
    app.print(Entry::Table { heading: "Commands".to_owned(), rows });
    let rows = KEYS.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
    app.print(Entry::Table { heading: "Keys".to_owned(), rows });
}
