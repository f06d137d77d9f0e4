//! Translates the command line as typed into our own options.

use std::collections::HashSet;
use std::ffi::OsString;

use super::rewrite::Rewritten;
use super::{chat, claude, codex, mcp};
use crate::cli::report::Failure;

/// `args` lack the program's name. Also returns notes for the user. `command` is ours.
pub fn translated(
    args: Vec<OsString>,
    command: &clap::Command,
) -> Result<(Vec<OsString>, Vec<String>), Failure> {
    let takes_value = |option: &str| with_values(command, "exec").contains(option);
    if args == ["-v"] {
        return Ok((vec!["--version".into()], Vec::new()));
    }
    let args = codex::command_first(args, takes_value);
    let first = args.first().and_then(|arg| arg.to_str()).unwrap_or_default();
    if first == "review" && codex::is_review(&args[1..]) {
        let (_, done) = codex::translated(args.into_iter(), takes_value)?;
        return Ok((std::iter::once("review".into()).chain(done.options).collect(), done.notes));
    }
    if first == "mcp" && args.get(1).is_some_and(|second| second == "add") {
        let ours = |option: &str| {
            with_values(command.find_subcommand("mcp").unwrap_or(command), "add").contains(option)
        };
        return mcp::translated(args.into_iter().skip(2), ours);
    }
    if first == "exec" || first == "e" {
        if args[1..] == ["help"] {
            return Ok((vec!["exec".into(), "--help".into()], Vec::new()));
        }
        let (name, done) = codex::translated(args.into_iter().skip(1), takes_value)?;
        return Ok(match name {
            "exec" => exec(done, false),
            name => (std::iter::once(name.into()).chain(done.options).collect(), done.notes),
        });
    }
    if command.find_subcommand(first).is_some() {
        return Ok((args, Vec::new()));
    }
    if claude::is_meant(&args, takes_value) {
        return Ok(exec(claude::translated(args.into_iter(), takes_value)?, true));
    }
    Ok((chat::translated(&args, takes_value)?.unwrap_or(args), Vec::new()))
}

/// `join`: a task may be typed without quotes.
fn exec(done: Rewritten, join: bool) -> (Vec<OsString>, Vec<String>) {
    let words =
        if join && done.words.len() > 1 { vec![done.words.join(&OsString::from(" "))] } else { done.words };
    let mut args = vec![OsString::from("exec")];
    args.extend(done.options);
    if !words.is_empty() {
        args.push("--".into());
        args.extend(words);
    }
    (args, done.notes)
}

/// The command's options that take a value, in all spellings.
fn with_values(command: &clap::Command, name: &str) -> HashSet<String> {
    let options = command.find_subcommand(name).into_iter().flat_map(clap::Command::get_arguments);
    let mut names = HashSet::new();
    for option in options.filter(|option| option.get_action().takes_values()) {
        names.extend(
            option.get_long_and_visible_aliases().into_iter().flatten().map(|name| format!("--{name}")),
        );
        names.extend(option.get_short().map(|short| format!("-{short}")));
    }
    names
}
