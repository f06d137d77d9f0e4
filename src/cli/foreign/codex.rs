//! The options of `codex exec`, as its source (`codex-rs/exec/src/cli.rs`, November 2026) and `@openai/codex-sdk` 0.163.0 have
//! them.

use std::ffi::{OsStr, OsString};

use super::rewrite::{Here, NOT_USED, OptionRow, Rewritten, Takes, rewrite, row};
use crate::cli::args::PERMISSIONS;
use crate::cli::report::Failure;

#[rustfmt::skip]
pub const ROWS: &[OptionRow] = &[
    row(&["--experimental-json"], Takes::Nothing, Here::Args(&["--format", "codex"]), "Codex's event lines; --json prints mycode's own"),
    row(&["--config", "-c"], Takes::One, Here::Nothing, "the settings below; -c alone continues the last session"),
    row(&["--sandbox", "-s"], Takes::One, Here::Of(sandbox), "--permission (see above)"),
    row(&["--full-auto"], Takes::Nothing, Here::Args(&["--permission", "auto"]), "--permission auto"),
    row(&["--dangerously-bypass-approvals-and-sandbox", "--yolo"], Takes::Nothing, Here::Args(&["--permission", "full"]), "--permission full"),
    row(&["--ask-for-approval", "-a"], Takes::One, Here::Of(approval), "untrusted: --permission ask; otherwise exec never asks"),
    row(&["--image", "-i"], Takes::One, Here::Of(images), "--image, once for each file"),
    row(&["--skip-git-repo-check"], Takes::Nothing, Here::Nothing, "no repository is needed"),
    row(&["--last"], Takes::Nothing, Here::Nothing, "with resume: continues this project's last session"),
    row(&["--all"], Takes::Nothing, Here::Note, "only sessions of this project are looked at"),
    row(&["--search"], Takes::Nothing, Here::Nothing, "WebSearch is there where config.toml has a search service"),
    row(&["--color"], Takes::One, Here::Nothing, "colors are for terminals; NO_COLOR=1 turns them off"),
    row(&["--include-plan-tool"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--strict-config"], Takes::Nothing, Here::Nothing, NOT_USED),
    row(&["--thread-source"], Takes::One, Here::Nothing, NOT_USED),
    row(&["--cyber-access-program"], Takes::One, Here::Nothing, NOT_USED),
    row(&["--ephemeral"], Takes::Nothing, Here::Note, "sessions are always saved; /resume in the chat deletes one"),
    row(&["--ignore-user-config"], Takes::Nothing, Here::Note, "config.toml is read; MYCODE_HOME names another folder"),
    row(&["--ignore-rules"], Takes::Nothing, Here::Note, "mycode's rules stay in force"),
    row(&["--enable"], Takes::One, Here::Note, "not supported; mycode has no such switch"),
    row(&["--disable"], Takes::One, Here::Note, "not supported; mycode has no such switch"),
    row(&["--profile", "-p"], Takes::One, Here::Refused, "there are no profiles; use --model, --effort, --permission"),
    row(&["--oss"], Takes::Nothing, Here::Refused, "use --base-url http://localhost:11434/v1 --model NAME"),
    row(&["--local-provider"], Takes::One, Here::Refused, "use --base-url http://localhost:11434/v1 --model NAME"),
];

/// What `codex exec review` has besides.
#[rustfmt::skip]
pub const REVIEW: &[OptionRow] = &[
    row(&["--uncommitted"], Takes::Nothing, Here::Nothing, "what review looks at without a branch"),
    row(&["--base"], Takes::One, Here::Of(branch), "the branch, as mycode review BRANCH"),
    row(&["--commit"], Takes::One, Here::As("--commit"), "--commit"),
    row(&["--title"], Takes::One, Here::Nothing, NOT_USED),
    row(&["--experimental-json"], Takes::Nothing, Here::Note, "a review is text, or one object with --json"),
];

/// Settings for `-c`, by their keys.
#[rustfmt::skip]
pub const SETTINGS: &[OptionRow] = &[
    row(&["model"], Takes::One, Here::As("--model"), "--model"),
    row(&["model_reasoning_effort"], Takes::One, Here::As("--effort"), "--effort"),
    row(&["openai_base_url"], Takes::One, Here::As("--base-url"), "--base-url"),
    row(&["sandbox_mode"], Takes::One, Here::Of(sandbox), "as --sandbox"),
    row(&["approval_policy"], Takes::One, Here::Of(approval), "as --ask-for-approval"),
    row(&["web_search"], Takes::One, Here::Of(web_search), "disabled: --deny WebSearch"),
    row(&["sandbox_workspace_write.network_access"], Takes::One, Here::NoteOn("true"), "true: commands reach the network only with danger-full-access"),
];

const NO_EFFECT: &str = "Codex's setting has no effect here; `mycode doctor --config` shows mycode's";
const OTHER_SETTING: OptionRow = row(&[], Takes::One, Here::Note, NO_EFFECT);

/// What stands behind `exec`, in our options, and which command of ours it is: `resume` and `review` are Codex's own.
pub fn translated(
    args: impl Iterator<Item = OsString>,
    takes_value: impl Fn(&str) -> bool,
) -> Result<(&'static str, Rewritten), Failure> {
    let mut settings = Vec::new();
    let kept: Vec<OsString> = separated(args, &mut settings);
    let mut done = rewrite(&[ROWS], kept.iter().cloned(), &takes_value)?;
    let reviews = reviewed(&done);
    if reviews {
        done = rewrite(&[REVIEW, ROWS], kept.into_iter(), takes_value)?;
        let words = std::mem::take(&mut done.words);
        if words.len() > 1 {
            let mut focus = OsString::from("--focus=");
            focus.push(words[1..].join(OsStr::new(" ")));
            done.options.push(focus);
        }
    }
    for (key, value) in settings {
        let row = SETTINGS.iter().find(|row| row.names.contains(&key.as_str())).unwrap_or(&OTHER_SETTING);
        done.apply(row, &format!("-c {key}"), &[value])?;
    }
    let levels = done.take("--permission");
    let strictest = PERMISSIONS.iter().find(|level| levels.iter().any(|one| one == *level)).copied();
    if let Some(level) = strictest.or(levels.last().map(String::as_str)) {
        done.add(&["--permission", level]);
    }
    resumed(&mut done);
    if done.uses("--experimental-json") && std::env::var_os("CODEX_API_KEY").is_some() {
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

/// `resume` alone, before an option or before a session is the command; as the beginning of a task it is a word.
fn resumed(done: &mut Rewritten) {
    let word = |at: usize| done.words.get(at).and_then(|word| word.to_str());
    if word(0) != Some("resume") {
        return;
    }
    let last = done.uses("--last");
    let id = word(1).filter(|word| !last && is_session(word)).map(str::to_owned);
    match id {
        Some(id) => {
            done.words.drain(..2);
            done.options.push(format!("--resume={id}").into());
        }
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

fn branch(name: &str) -> Result<Vec<String>, String> {
    Ok(vec![name.to_owned()])
}

pub fn sandbox(mode: &str) -> Result<Vec<String>, String> {
    let level = match mode {
        "read-only" => "read-only",
        "workspace-write" => "auto",
        "danger-full-access" => "full",
        _ => return Err("use read-only, workspace-write or danger-full-access".to_owned()),
    };
    Ok(vec!["--permission".to_owned(), level.to_owned()])
}

pub fn approval(policy: &str) -> Result<Vec<String>, String> {
    match policy {
        "never" | "on-request" | "on-failure" => Ok(Vec::new()),
        "untrusted" => Ok(vec!["--permission".to_owned(), "ask".to_owned()]),
        _ => Err("use untrusted, on-failure, on-request or never".to_owned()),
    }
}

fn images(files: &str) -> Result<Vec<String>, String> {
    Ok(files.split(',').map(|file| format!("--image={file}")).collect())
}

fn web_search(mode: &str) -> Result<Vec<String>, String> {
    Ok(if mode == "disabled" { vec!["--deny=WebSearch".to_owned()] } else { Vec::new() })
}
