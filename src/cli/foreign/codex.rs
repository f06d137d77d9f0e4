//! The options of `codex exec`, as its source (`codex-rs/exec/src/cli.rs`, November 2026) and `@openai/codex-sdk` 0.163.0 have
//! them; its servers' settings as in developers.openai.com/codex/config-sample (read 2026-11-29).

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

use super::rewrite::{OptionRow, Rewritten, Takes, refused, rewrite, table};
use crate::cli::args::PERMISSIONS;
use crate::cli::report::Failure;
use base::file;
use base::format::settings_file;
use records::import::peers::found;

const EXEC: &str = "Options of codex exec";
const MAX_BYTES: u64 = 1024 * 1024;

static ROWS: LazyLock<Vec<OptionRow>> = LazyLock::new(|| table(EXEC));

const NO_EFFECT: &str = "Codex's setting has no effect here; `mycode doctor --config` shows mycode's";

const NO_PROFILE: &str = "Codex's folder has no such .config.toml, and its config.toml no such profile; use --model, --effort and --permission";

const NO_ADDRESS: &str =
    "its address isn't given: add -c model_providers.NAME.base_url=URL, or use --base-url";

const OUR_EVENTS: &str = "--json prints mycode's events; Codex's come with --experimental-json, or with --json where mycode is called codex";

pub fn called_codex() -> bool {
    std::env::args_os().next().is_some_and(|program| Path::new(&program).ends_with("codex"))
}

/// Translates what follows `exec`, and tells which of our commands it is: `resume` and `review` are Codex's own.
pub fn translated(
    args: impl Iterator<Item = OsString>,
    takes_value: impl Fn(&str) -> bool,
) -> Result<(&'static str, Rewritten), Failure> {
    let kept = with_continue(args);
    let mut done = rewrite(&ROWS, kept.iter().cloned(), &takes_value, |_| false)?;
    let reviews = reviewed(&done);
    if reviews {
        let mut rows = table("Options of codex exec review");
        rows.extend(table(EXEC));
        done = rewrite(&rows, kept.into_iter(), &takes_value, |_| false)?;
        let words = std::mem::take(&mut done.words);
        if words.len() > 1 {
            let mut focus = OsString::from("--focus=");
            focus.push(words[1..].join(OsStr::new(" ")));
            done.options.push(focus);
        }
    }
    let settings = done.take("--config").iter().filter_map(|text| setting(text)).collect();
    set(&mut done, "-c", settings, &takes_value)?;
    for name in done.take("--profile") {
        let mut profile = Rewritten::default();
        set(&mut profile, &format!("profile {name}:"), settings_of(&name)?, &takes_value)?;
        done.options.splice(..0, profile.options);
        done.notes.extend(profile.notes);
    }
    resumed(&mut done);
    let called_codex = called_codex();
    match done.options.iter().position(|option| option == "--json") {
        Some(at) if called_codex => done.options[at] = "--format=codex".into(),
        Some(_) if !done.used.is_empty() => done.notes.push(OUR_EVENTS.to_owned()),
        None if called_codex && !done.uses("--experimental-json") => done.add(&["--format=text"]),
        _ => {}
    }
    if called_codex && !reviews {
        let prints = done.options.iter().any(|option| option == "--format=text");
        let id = done.name_session().filter(|_| prints);
        done.notes.extend(id.map(|id| format!("session id: {id}")));
    }
    if (called_codex || done.uses("--experimental-json")) && std::env::var_os("CODEX_API_KEY").is_some() {
        done.add(&["--api-key-env", "CODEX_API_KEY"]);
    }
    Ok((if reviews { "review" } else { "exec" }, done))
}

fn set(
    done: &mut Rewritten,
    from: &str,
    mut settings: Vec<(String, String)>,
    takes_value: impl Fn(&str) -> bool,
) -> Result<(), Failure> {
    let rows = table("Settings of codex exec (-c KEY=VALUE)");
    let flags = done.options.len();
    let server = settings.iter().rfind(|(key, _)| key == "model_provider").map(|(_, name)| name.clone());
    if let Some(name) = server.filter(|name| name != "openai") {
        let of_server = format!("model_providers.{name}.");
        for (key, _) in &mut settings {
            *key = key.replace('"', "").replacen(&of_server, "model_providers.NAME.", 1);
        }
        // The requests must not go to the usual server instead.
        if !settings.iter().any(|(key, _)| key == "model_providers.NAME.base_url") {
            return Err(refused(&format!("{from} model_provider={name}"), NO_ADDRESS));
        }
    }
    for (key, value) in settings {
        let own = format!("--{}", key.replace('_', "-"));
        match rows.iter().find(|row| row.names.contains(&key.as_str())) {
            Some(row) => done.apply(row, &format!("{from} {key}"), &[value])?,
            None if takes_value(&own) => done.options.push(format!("{own}={value}").into()),
            None => done.notes.push(format!("{from} {key}: {NO_EFFECT}")),
        }
    }
    done.options.rotate_left(flags);
    let levels = done.take("--permission");
    let strictest = PERMISSIONS.iter().find(|level| levels.iter().any(|one| one == *level)).copied();
    if let Some(level) = strictest.or(levels.last().map(String::as_str)) {
        done.add(&["--permission", level]);
    }
    Ok(())
}

/// A profile is a file since Codex 0.134, before that a table (developers.openai.com/codex/config-advanced).
fn settings_of(profile: &str) -> Result<Vec<(String, String)>, Failure> {
    let folder = found::base("CODEX_HOME", ".codex").unwrap_or_default();
    let read = |name: &str| {
        let path = folder.join(name);
        settings_file::parse(&path, &file::small_text(&path, MAX_BYTES)?).ok()
    };
    let all = || Some(read("config.toml")?["profiles"][profile].take());
    let Some(Value::Object(table)) = read(&format!("{profile}.config.toml")).or_else(all) else {
        return Err(refused(&format!("--profile {profile}"), NO_PROFILE));
    };
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    Ok(table.into_iter().map(|(key, value)| (key, text(value))).collect())
}

/// Codex also takes most options before the command.
pub fn command_first(mut args: Vec<OsString>, takes_value: impl Fn(&str) -> bool) -> Vec<OsString> {
    let mut at = 0;
    while let Some(text) = args.get(at).and_then(|arg| arg.to_str()).filter(|text| text.starts_with('-')) {
        let row = ROWS.iter().find(|row| row.names.contains(&text));
        let is_setting = |next: &OsString| next.to_str().is_some_and(|next| setting(next).is_some());
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

/// Whether the words after `review` are Codex's; a branch alone is ours.
pub fn is_review(args: &[OsString]) -> bool {
    let is_own = |arg: &OsString| {
        let text = arg.to_string_lossy();
        ["--base", "--uncommitted", "--title"].iter().any(|name| text.split('=').next() == Some(name))
    };
    args.iter().any(is_own) || matches!(args, [one] if asks(one))
}

/// A `-c` without a setting is our own option.
fn with_continue(args: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.collect();
    for at in 0..args.iter().position(|arg| arg == "--").unwrap_or(args.len()) {
        let alone = args.get(at + 1).and_then(|next| next.to_str()).and_then(setting).is_none();
        if alone && (args[at] == "-c" || args[at] == "--config") {
            args[at] = "--continue".into();
        }
    }
    args
}

/// `key=value`, where the value is TOML or a word.
fn setting(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "._-\"".contains(c));
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.trim_matches('\'').to_owned());
    is_key.then(|| (key.to_owned(), value))
}

/// `resume` is a command alone or before an option or session, `fork` before a session; otherwise they begin a task.
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

/// `review` likewise, and also before one argument that is a sentence or `-`.
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
