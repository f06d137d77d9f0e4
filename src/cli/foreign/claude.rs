//! The options of `claude -p`, as its SDKs pass them (`@anthropic-ai/claude-agent-sdk` 0.3.332, `claude-agent-sdk` 0.2.189 for
//! Python; options and exit codes also as Claude Code 2.1.332 has them; November 2026).

use std::ffi::OsString;

use super::rewrite::{Rewritten, rewrite, table};
use crate::cli::report::Failure;
use base::system::os;

/// Names of Claude Code's own models, which another server doesn't have.
const ALIASES: [&str; 6] = ["default", "sonnet", "opus", "haiku", "opusplan", "inherit"];

/// Whether the line is meant for `claude -p`: the SDKs don't pass `-p`, but formats.
pub fn is_meant<'a>(mut args: impl Iterator<Item = &'a str>) -> bool {
    let theirs = ["-p", "--print", "--output-format", "--input-format"];
    args.any(|arg| theirs.contains(&arg.split('=').next().unwrap_or(arg)))
}

/// The line in options of `mycode exec`.
pub fn translated(
    args: impl Iterator<Item = OsString>,
    takes_value: impl Fn(&str) -> bool,
) -> Result<Rewritten, Failure> {
    let mut done = rewrite(&table("Options of claude -p"), args, takes_value, |_| false)?;
    if !done.options.iter().any(|arg| arg.to_string_lossy().starts_with("--format")) {
        done.add(&[if done.uses("--verbose") { "--format=text" } else { "--format=answer" }]);
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
    if done.options.iter().any(is_json) && os::outputs_are_one() {
        done.notes.clear();
    }
    Ok(done)
}
