//! Options with which people start the chats of Claude Code, Codex and Gemini CLI.

use std::ffi::OsString;

use super::rewrite::{rewrite, table};
use crate::cli::report::Failure;

/// Returns `None` if the line has none of them.
pub fn translated(
    args: &[OsString],
    takes_value: impl Fn(&str) -> bool,
) -> Result<Option<Vec<OsString>>, Failure> {
    let rows = table("Options of the chats");
    let is_theirs = |arg: &OsString| {
        let name = arg.to_str().map(|arg| arg.split_once('=').map_or(arg, |(name, _)| name));
        rows.iter().any(|row| name.is_some_and(|name| row.names.contains(&name)))
    };
    if !args.iter().take_while(|arg| *arg != "--").any(is_theirs) {
        return Ok(None);
    }
    let mut done = rewrite(&rows, args.iter().cloned(), takes_value, |_| false)?;
    let sessions = done.take("resume");
    let resumed = sessions.into_iter().flat_map(|id| ["resume".to_owned(), id]).filter(|arg| !arg.is_empty());
    let pictures = done.take("--image").into_iter().map(|file| format!("@\"{file}\""));
    let words = pictures.map(OsString::from).chain(done.words);
    Ok(Some(resumed.map(OsString::from).chain(done.options).chain(words).collect()))
}
