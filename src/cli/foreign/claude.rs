//! The options of `claude -p`, as its SDKs pass them (`@anthropic-ai/claude-agent-sdk` 0.3.332, `claude-agent-sdk` 0.2.189 for
//! Python; options, exit codes and what is done without a terminal as in Claude Code 2.1.332; November 2026).

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};

use super::rewrite::{Rewritten, rewrite, table};
use crate::cli::commands::work::chat;
use crate::cli::report::Failure;
use base::system::os;

/// Names of Claude Code's own models, which other servers don't have.
const ALIASES: [&str; 6] = ["default", "sonnet", "opus", "haiku", "opusplan", "inherit"];

/// With one of these, the line has no task.
const NO_TASK: [&str; 5] = ["--help", "-h", "--version", "-V", "--plain"];

/// SDKs pass formats instead of `-p`; without a terminal for the output, a task alone is enough.
pub fn is_meant(args: &[OsString], takes_value: impl Fn(&str) -> bool) -> bool {
    let theirs = ["-p", "--print", "--output-format", "--input-format"];
    let mut typed = args.iter().map_while(|arg| arg.to_str().filter(|arg| *arg != "--"));
    let is_task = |arg: &OsString| arg.to_string_lossy().contains(' ');
    let has_task = || {
        let read = rewrite(&table("Options of claude -p"), args.iter().cloned(), takes_value, |_| false);
        let has_words = |done: Rewritten| {
            done.words.iter().all(is_task) && (!done.words.is_empty() || !io::stdin().is_terminal())
        };
        !args.iter().any(|arg| NO_TASK.iter().any(|other| arg == other)) && read.is_ok_and(has_words)
    };
    typed.any(|arg| theirs.contains(&arg.split('=').next().unwrap_or(arg)))
        || !io::stdout().is_terminal() && !chat::is_plain_set() && has_task()
}

pub fn translated(
    args: impl Iterator<Item = OsString>,
    takes_value: impl Fn(&str) -> bool,
) -> Result<Rewritten, Failure> {
    let mut done = rewrite(&table("Options of claude -p"), args, takes_value, |_| false)?;
    if !done.options.iter().any(|arg| arg.to_string_lossy().starts_with("--format")) {
        done.add(&[if done.uses("--verbose") { "--format=text" } else { "--format=answer" }]);
    }
    let has = |option: &str| done.options.iter().any(|arg| arg == option);
    if has("--host") && !has("--format=claude") {
        return Err(Failure::usage(
            "--input-format stream-json reads messages, and needs --output-format stream-json",
            "add it, or leave --input-format out and give the task as an argument",
        ));
    }
    for model in done.take("--model") {
        if ALIASES.contains(&model.as_str()) {
            done.notes.push(format!(
                "--model {model}: your server has no model of this name; the configured one is used"
            ));
        } else {
            done.add(&["--model", &model]);
        }
    }
    let levels = done.take("--permission");
    let careful = ["--allowedTools", "--disallowedTools", "--tools", "--permission-prompt-tool"];
    let by_default =
        careful.iter().any(|name| done.uses(name)) || done.options.iter().any(|arg| arg == "--host");
    match levels.iter().find(|level| *level == "full").or(levels.last()) {
        Some(level) => done.add(&["--permission", level]),
        None if by_default && !done.uses("--permission-mode") => done.add(&["--permission", "ask"]),
        None => {}
    }
    if done.uses("--allowedTools") || done.uses("--disallowedTools") {
        done.add(&["--foreign-rules"]);
    }
    // Scripts read its JSON with `2>&1`, as Claude Code writes nothing else.
    let is_json = |arg: &OsString| arg == "--format=claude-result" || arg == "--format=claude";
    if done.options.iter().any(is_json) {
        done.name_session();
        if os::outputs_are_one() {
            done.notes.clear();
        }
    }
    Ok(done)
}
