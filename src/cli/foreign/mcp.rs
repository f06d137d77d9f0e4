//! `mcp add` as `claude mcp add` and `codex mcp add` write it: options may stand behind the name, and behind an address (Claude
//! Code's MCP page and `codex-rs/cli/src/mcp_cmd.rs`, November 2026).

use std::ffi::OsString;

use super::rewrite::{rewrite, table};
use crate::cli::report::Failure;

pub fn translated(
    args: impl Iterator<Item = OsString>,
    takes_value: impl Fn(&str) -> bool,
) -> Result<(Vec<OsString>, Vec<String>), Failure> {
    let is_url = |word: &OsString| word.to_string_lossy().contains("://");
    let rows = table("Options of claude mcp add and codex mcp add");
    let done = rewrite(&rows, args, takes_value, |words| words.len() > 1 && !is_url(&words[1]))?;
    let mut line: Vec<OsString> = vec!["mcp".into(), "add".into()];
    line.extend(done.options);
    let mut words = done.words.into_iter();
    line.extend(words.next());
    line.push("--".into());
    line.extend(words);
    Ok((line, done.notes))
}
