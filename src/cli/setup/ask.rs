//! Before the screen opens: whether to trust a folder's configuration and held-back rules files, as that decides on the model
//! and its instructions; what to do about a session that is open elsewhere; and the welcome of the first start without a
//! configuration.

use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use crate::cli::args::ModelArgs;
use crate::cli::report::{self, Failure};
use base::config::files::load::Loaded;
use base::config::paths::Paths;
use base::config::provider::vendors::VENDORS;
use base::config::trusted::active;
use base::config::trusted::held_back::HeldBack;
use base::config::trusted::own_files::OwnFiles;
use base::config::trusted::project_file;
use base::config::trusted::trust::{Definition, Trust};
use base::process::reap;
use base::text::{elide, plural};
use base::{file, sanitize};
use context::session::log::{self, LogError, SessionLog};
use context::session::stored;
use provider::window::probe::LOCAL_SERVERS;

const MAX_ANSWER_BYTES: u64 = 1024;
const MAX_RULES_BYTES: u64 = 1024 * 1024;

const SHOWN_LINES: usize = 20;
const SHOWN_CHARS: usize = 160;

/// Asks if the folder wants something that needs trust, and wasn't trusted or refused in its present form.
pub fn ask_trust(workspace: &Path) -> Result<(), Failure> {
    let project_state = Paths::from_env().project(workspace);
    ask_rules(&HeldBack::new(&project_state))?;
    ask_agents(workspace, &project_state)?;
    let Some((settings, wishes)) = project_file::wishes(workspace)? else { return Ok(()) };
    let trust = Trust::read(&project_state);
    if wishes.is_empty() || trust.holds(&settings) || trust.refused(&settings) {
        return Ok(());
    }
    let wishes: Vec<String> = wishes.iter().map(|wish| format!("  {}\n", sanitize::reveal(wish))).collect();
    report::print(&format!(
        "{} wants to set:\n{}This controls where your prompts go and what may run. Do you trust it?\n\
         [y] yes, this version   [n] no, and don't ask again   [l] later (default): ",
        sanitize::reveal(&settings.name),
        wishes.concat()
    ))?;
    decide(&trust, &[settings])
}

/// Asks about what is new or has changed; the rest stays trusted.
fn ask_agents(workspace: &Path, project_state: &Path) -> Result<(), Failure> {
    let trust = Trust::read(project_state);
    let mut open = OwnFiles::of_project(workspace).definitions(workspace);
    open.retain(|one| !trust.holds(one) && !trust.refused(one));
    if open.is_empty() {
        return Ok(());
    }
    let changes = active::differences(&open, &trust);
    report::print(&format!(
        "{}This project defines {}: {}. They control what the model does here and what runs. Do you trust them?\n\
         [y] yes, these versions   [n] no, and don't ask again   [l] later (default): ",
        sanitize::reveal(&changes),
        active::kinds(&open),
        sanitize::reveal(&active::names(&open, &trust))
    ))?;
    decide(&trust, &open)
}

fn decide(trust: &Trust, all: &[Definition]) -> Result<(), Failure> {
    match answer()?.as_str() {
        "y" | "yes" => trust.give(all)?,
        "n" | "no" => trust.refuse(all)?,
        _ => {}
    }
    Ok(())
}

pub fn yes(question: &str) -> Result<bool, Failure> {
    report::print(question)?;
    Ok(matches!(answer()?.as_str(), "y" | "yes"))
}

/// Asks about rules files that appeared or changed while a command ran, and haven't changed since.
fn ask_rules(held_back: &HeldBack) -> Result<(), Failure> {
    let mut shown = String::new();
    for (path, hash) in held_back.list() {
        let Ok((bytes, _)) = file::read(&path, MAX_RULES_BYTES) else { continue };
        if file::hash(&bytes) != hash {
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        shown.push_str(&format!("{}:\n", sanitize::reveal(&path.display().to_string())));
        for line in text.lines().take(SHOWN_LINES) {
            shown.push_str(&format!("  {}\n", sanitize::reveal(&elide(line, SHOWN_CHARS))));
        }
        let more = text.lines().count().saturating_sub(SHOWN_LINES);
        if more > 0 {
            shown.push_str(&format!("  ({} more)\n", plural(more, "line")));
        }
    }
    if shown.is_empty() {
        return Ok(());
    }
    report::print(&format!(
        "{shown}This appeared or changed while a command ran. Use it as project rules?\n\
         [y] yes, this version   [n] not now (default): "
    ))?;
    if matches!(answer()?.as_str(), "y" | "yes") {
        held_back.release()?;
    }
    Ok(())
}

/// The log to use: this one if it is free or the other process gives it up, or a copy. `None` to quit.
pub fn ask_busy(project_state: &Path, workspace: &Path, log: PathBuf) -> Result<Option<PathBuf>, Failure> {
    let id = match SessionLog::open(&log) {
        Ok(_) => return Ok(Some(log)),
        Err(LogError::Busy { id }) => id,
        Err(error) => return Err(error.into()),
    };
    let holder = reap::holder(&log);
    let (place, take_over) = match holder {
        Some(pid) => (format!("process {pid}"), "[t] take over, closing the other   "),
        None => ("another process".to_owned(), ""),
    };
    report::print(&format!(
        "Session {id} is open in {place}.\n[f] fork and continue in the copy (default)   {take_over}[q] quit: "
    ))?;
    match (answer()?.as_str(), holder) {
        ("q" | "quit" | "n" | "no", _) => Ok(None),
        ("t" | "take over", Some(pid)) if log::end_holder(pid, &log) => Ok(Some(log)),
        ("t" | "take over", _) => Err(Failure::task(
            format!("session {id} is still open in {place}"),
            "end that mycode, or continue in a copy with --fork",
        )),
        _ => Ok(Some(stored::fork(project_state, workspace, &log)?)),
    }
}

pub fn answer() -> Result<String, Failure> {
    io::stdout().flush()?;
    let mut answer = Vec::new();
    io::Read::take(io::stdin().lock(), MAX_ANSWER_BYTES).read_until(b'\n', &mut answer)?;
    Ok(String::from_utf8_lossy(&answer).trim().to_lowercase())
}

/// Shows it on the first start if neither a file nor a flag chooses a model.
pub fn welcome(args: &ModelArgs, loaded: &Loaded) -> Result<(), Failure> {
    let paths = Paths::from_env();
    let shown = paths.state.join("welcomed");
    let chosen = args.provider.is_some() || args.base_url.is_some() || args.model.is_some();
    if chosen || shown.exists() || paths.user_config().exists() {
        return Ok(());
    }
    // If this fails, it is shown again.
    let _ = fs::create_dir_all(&paths.state).and_then(|()| fs::write(&shown, ""));
    report::say(&welcome_text(loaded, |name| std::env::var_os(name).is_some_and(|value| !value.is_empty())))
}

fn welcome_text(loaded: &Loaded, is_set: impl Fn(&str) -> bool) -> String {
    let known = VENDORS.iter().flat_map(|vendor| &vendor.keys).map(String::as_str);
    let keys: Vec<&str> = known.filter(|name| is_set(name)).collect();
    let keys = if keys.is_empty() { "none set".to_owned() } else { keys.join(", ") };
    let mut servers = LOCAL_SERVERS.map(|(name, _)| name).to_vec();
    servers.dedup();
    let model = match &loaded.provider {
        Some(settings) => format!("{} at {}", settings.model, settings.base_url),
        None => "none yet".to_owned(),
    };
    let local = match &loaded.provider {
        Some(settings) if settings.api_key.is_none() => format!("found at {}", settings.base_url),
        Some(_) => "skipped: an API key is set".to_owned(),
        None => format!("none running (tried {})", servers.join(", ")),
    };
    format!(
        "Welcome to mycode.\n  Keys           {}\n  Local servers  {local}\n  Model          {model}\n\n\
         Permission level: {} (/permission to change)\n\
         \x20 read-only     reads files; changes nothing\n\
         \x20 ask           asks before each change and command\n\
         \x20 accept-edits  edits files; asks before each command\n\
         \x20 auto          works in this folder without asking, sandboxed\n\
         \x20 full          never asks, no sandbox\n\n\
         New project? /init writes a rules file. No key? `mycode demo` shows a session.\n\n",
        keys,
        loaded.work.permission.into_str()
    )
}
