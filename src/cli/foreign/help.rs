//! `mycode help scripts`: the options of other programs and their equivalents here.

use std::fmt::Write as _;

use super::rewrite::{NOT_USED, OptionRow, Takes, table};

const TITLES: [&str; 5] = [
    "Options of claude -p",
    "Options of codex exec",
    "Options of codex exec review",
    "Settings of codex exec (-c KEY=VALUE)",
    "Options of claude mcp add and codex mcp add",
];
const NAME_WIDTH: usize = 34;
const IDLE_ON_A_LINE: usize = 4;

pub fn page() -> String {
    let mut page = String::from(include_str!("../help/scripts.txt"));
    for title in TITLES {
        let rows = table(title);
        let _ = write!(page, "\n{title}:\n");
        let (idle, used): (Vec<&OptionRow>, _) = rows.iter().partition(|row| row.is == NOT_USED);
        used.into_iter().for_each(|row| list(&mut page, row));
        let idle: Vec<&str> = idle.into_iter().flat_map(|row| &row.names).copied().collect();
        for names in idle.chunks(IDLE_ON_A_LINE) {
            let _ = writeln!(page, "  no effect: {}", names.join(", "));
        }
    }
    page
}

fn list(page: &mut String, row: &OptionRow) {
    let value = match row.takes {
        Takes::Nothing => "",
        _ if !row.names[0].starts_with('-') => "",
        Takes::One => " VALUE",
        Takes::Maybe => " [VALUE]",
        Takes::Many => " VALUE…",
    };
    let name = format!("{}{value}", row.names.join(", "));
    let _ = match name.chars().count() > NAME_WIDTH {
        true => writeln!(page, "  {name}\n  {:NAME_WIDTH$}  {}", "", row.is),
        false => writeln!(page, "  {name:NAME_WIDTH$}  {}", row.is),
    };
}
