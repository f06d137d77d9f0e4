//! Options with which people start the chats of Claude Code, Codex and Gemini CLI.

use std::ffi::OsString;

use super::rewrite::{Here, OptionRow, Takes, rewrite, row};
use super::{claude, codex};
use crate::cli::report::Failure;

#[rustfmt::skip]
const ROWS: &[OptionRow] = &[
    row(&["--yolo", "--dangerously-skip-permissions", "--dangerously-bypass-approvals-and-sandbox"], Takes::Nothing, Here::Args(&["--permission", "full"]), "--permission full"),
    row(&["--full-auto"], Takes::Nothing, Here::Args(&["--permission", "auto"]), "--permission auto"),
    row(&["--permission-mode"], Takes::One, Here::Of(claude::mode), "--permission; plan is --mode plan"),
    row(&["--sandbox", "-s"], Takes::One, Here::Of(codex::sandbox), "--permission"),
    row(&["--ask-for-approval", "-a"], Takes::One, Here::Of(codex::approval), "--permission ask asks before each change and command"),
    row(&["--resume", "-r"], Takes::Maybe, Here::Of(resume), "mycode resume"),
    row(&["--image", "-i"], Takes::One, Here::Refused, "paste the picture's path in the chat, or use mycode exec --image FILE"),
    row(&["--search"], Takes::Nothing, Here::Nothing, "WebSearch is there where config.toml has a search service"),
    row(&["--verbose"], Takes::Nothing, Here::Nothing, "Ctrl-O shows outputs in full"),
];

const RESUME: &str = "resume";

/// `None`: none of them is there.
pub fn translated(
    args: &[OsString],
    takes_value: impl Fn(&str) -> bool,
) -> Result<Option<Vec<OsString>>, Failure> {
    let is_theirs = |arg: &OsString| {
        let name = arg.to_str().map(|arg| arg.split_once('=').map_or(arg, |(name, _)| name));
        ROWS.iter().any(|row| name.is_some_and(|name| row.names.contains(&name)))
    };
    if !args.iter().take_while(|arg| *arg != "--").any(is_theirs) {
        return Ok(None);
    }
    let mut done = rewrite(&[ROWS], args.iter().cloned(), takes_value)?;
    let sessions = done.take(RESUME);
    let resumed = sessions.into_iter().flat_map(|id| [RESUME.to_owned(), id]).filter(|arg| !arg.is_empty());
    Ok(Some(resumed.map(OsString::from).chain(done.options).chain(done.words).collect()))
}

fn resume(id: &str) -> Result<Vec<String>, String> {
    Ok(vec![RESUME.to_owned(), id.to_owned()])
}
