//! The options of `codex exec`, as its source (`codex-rs/exec/src/cli.rs`, November 2026) and `@openai/codex-sdk` 0.163.0 have
//! them.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::LazyLock;

use super::rewrite::{OptionRow, Rewritten, Takes, rewrite, table};
use crate::cli::args::PERMISSIONS;
use crate::cli::report::Failure;

const EXEC: &str = "Options of codex exec";

static ROWS: LazyLock<Vec<OptionRow>> = LazyLock::new(|| table(EXEC));

const NO_EFFECT: &str = "Codex's setting has no effect here; `mycode doctor --config` shows mycode's";

const OUR_EVENTS: &str = "--json prints mycode's events; Codex's come with --experimental-json, or with --json where mycode is called codex";

/// What stands behind `exec`, in our options, and which command of ours it is: `resume` and `review` are Codex's own.
pub fn translated(
    args: impl Iterator<Item = OsString>,
    takes_value: impl Fn(&str) -> bool,
) -> Result<(&'static str, Rewritten), Failure> {
    let mut settings = Vec::new();
    let kept: Vec<OsString> = separated(args, &mut settings);
    let mut done = rewrite(&ROWS, kept.iter().cloned(), &takes_value, |_| false)?;
    let reviews = reviewed(&done);
    if reviews {
        let mut rows = table("Options of codex exec review");
        rows.extend(table(EXEC));
        done = rewrite(&rows, kept.into_iter(), takes_value, |_| false)?;
        let words = std::mem::take(&mut done.words);
        if words.len() > 1 {
            let mut focus = OsString::from("--focus=");
            focus.push(words[1..].join(OsStr::new(" ")));
            done.options.push(focus);
        }
    }
    let rows = table("Settings of codex exec (-c KEY=VALUE)");
    for (key, value) in settings {
        match rows.iter().find(|row| row.names.contains(&key.as_str())) {
            Some(row) => done.apply(row, &format!("-c {key}"), &[value])?,
            None => done.notes.push(format!("-c {key}: {NO_EFFECT}")),
        }
    }
    let levels = done.take("--permission");
    let strictest = PERMISSIONS.iter().find(|level| levels.iter().any(|one| one == *level)).copied();
    if let Some(level) = strictest.or(levels.last().map(String::as_str)) {
        done.add(&["--permission", level]);
    }
    resumed(&mut done);
    let called_codex =
        std::env::args_os().next().is_some_and(|program| Path::new(&program).ends_with("codex"));
    match done.options.iter_mut().find(|option| *option == "--json") {
        Some(json) if called_codex => *json = "--format=codex".into(),
        Some(_) if !done.used.is_empty() => done.notes.push(OUR_EVENTS.to_owned()),
        _ => {}
    }
    if (called_codex || done.uses("--experimental-json")) && std::env::var_os("CODEX_API_KEY").is_some() {
        done.add(&["--api-key-env", "CODEX_API_KEY"]);
    }
    Ok((if reviews { "review" } else { "exec" }, done))
}

/// Codex takes most options before the command, too.
pub fn command_first(mut args: Vec<OsString>, takes_value: impl Fn(&str) -> bool) -> Vec<OsString> {
    let mut at = 0;
    while let Some(text) = args.get(at).and_then(|arg| arg.to_str()).filter(|text| text.starts_with('-')) {
        let row = ROWS.iter().find(|row| row.names.contains(&text));
        let is_setting = |next: &OsString| setting(next).is_some();
        let has_value = match text {
            "-p" | "--" => return args,
            "-c" | "--config" => args.get(at + 1).is_some_and(is_setting),
            _ => row.map_or_else(|| takes_value(text), |row| row.takes == Takes::One),
        };
        at += 1 + usize::from(has_value);
    }
    if args.get(at).is_some_and(|word| word == "exec" || word == "e" || word == "review") {
        args[..=at].rotate_right(1);
    }
    args
}

/// Whether what follows `review` is as Codex has it; a branch alone is ours.
pub fn is_review(args: &[OsString]) -> bool {
    let is_own = |arg: &OsString| {
        let text = arg.to_string_lossy();
        ["--base", "--uncommitted", "--title"].iter().any(|name| text.split('=').next() == Some(name))
    };
    args.iter().any(is_own) || matches!(args, [one] if asks(one))
}

/// Takes the settings out; a `-c` without one becomes `--continue`.
fn separated(args: impl Iterator<Item = OsString>, settings: &mut Vec<(String, String)>) -> Vec<OsString> {
    let mut kept = Vec::new();
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("--") => {
                kept.push(arg);
                kept.extend(args.by_ref());
            }
            Some("-c" | "--config") => match args.next_if(|next| setting(next).is_some()) {
                Some(next) => settings.extend(setting(&next)),
                None => kept.push("--continue".into()),
            },
            Some(text) if text.starts_with("--config=") => {
                settings.extend(setting(&OsString::from(&text["--config=".len()..])));
            }
            _ => kept.push(arg),
        }
    }
    kept
}

/// `key=value`, where the value is TOML or a word.
fn setting(arg: &OsString) -> Option<(String, String)> {
    let (key, value) = arg.to_str()?.split_once('=')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "._-\"".contains(c));
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.trim_matches('\'').to_owned());
    is_key.then(|| (key.to_owned(), value))
}

/// `resume` alone, before an option or a session is the command, and `fork` before a session; as a task's beginning it is a word.
fn resumed(done: &mut Rewritten) {
    let word = |at: usize| done.words.get(at).and_then(|word| word.to_str());
    let forks = word(0) == Some("fork");
    if !forks && word(0) != Some("resume") {
        return;
    }
    let last = done.uses("--last");
    let id = word(1).filter(|word| !last && is_session(word)).map(str::to_owned);
    match id {
        Some(id) => {
            done.words.drain(..2);
            done.options.push(format!("--resume={id}").into());
            done.options.extend(forks.then(|| "--fork".into()));
        }
        None if forks => {}
        None if last || done.words.len() == 1 || done.option_after_word => {
            done.words.remove(0);
            done.add(&["--continue"]);
        }
        None => {}
    }
}

/// `review` likewise, and before one argument that is a sentence or `-`.
fn reviewed(done: &Rewritten) -> bool {
    done.words.first().is_some_and(|word| word == "review")
        && (done.words.len() == 1 || done.option_after_word || done.words.len() == 2 && asks(&done.words[1]))
}

fn asks(word: &OsString) -> bool {
    word == "-" || word.to_string_lossy().contains(' ')
}

fn is_session(word: &str) -> bool {
    word.len() >= 8
        && word.contains(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}
