//! The table of programs that check a project. `programs.txt` explains its format.

use base::model::observation::CheckKind;
use base::search::words::listed;

const TABLE: &str = include_str!("programs.txt");

/// The rows for a program: kind, and the subcommands that count (empty: any use).
pub fn rows(program: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(move |line| {
        let (kind, row) = line.split_once(' ')?;
        let (programs, subs) = row.split_once(": ").unwrap_or((row, ""));
        listed(programs, program).then_some((kind, subs))
    })
}

pub fn is(kind: &str, program: &str) -> bool {
    rows(program).any(|(known, _)| known == kind)
}

/// `None` for rows that aren't checks.
pub fn check_kind(kind: &str) -> Option<CheckKind> {
    serde_json::from_value(kind.into()).ok()
}
