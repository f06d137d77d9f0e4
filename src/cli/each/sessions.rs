//! The sessions of a batch's tasks, which worked in folders of their own and have their state elsewhere; and what they tell.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::child::TaskOutput;
use super::task_dir::{FOLDER, TaskDir};
use base::config::paths::Paths;
use context::report::session::{self, SessionReport};
use context::session::list;
use context::session::log::{self, LogError, SessionLog};

/// The first lines of a file of events name the folder.
const HEAD_BYTES: u64 = 64 * 1024;

pub fn states(root: &Path) -> Vec<PathBuf> {
    let paths = Paths::from_env();
    let batches = fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten();
    let events = batches.flat_map(|batch| events(&batch.path()));
    let folders: BTreeSet<PathBuf> = events.filter_map(|file| Some(first_session(&file)?.1)).collect();
    folders.iter().filter(|folder| *folder != root).map(|folder| paths.project(folder)).collect()
}

pub fn logs(batch: &Path) -> Vec<PathBuf> {
    let paths = Paths::from_env();
    let found = events(batch).into_iter().filter_map(|file| first_session(&file));
    found.map(|(id, folder)| log::path_of(&paths.project(&folder), &id)).collect()
}

fn events(batch: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(batch).into_iter().flatten().flatten().map(|file| file.path());
    files.filter(|file| file.to_string_lossy().ends_with(".events.jsonl")).collect()
}

fn first_session(events: &Path) -> Option<(String, PathBuf)> {
    let head = BufReader::new(File::open(events).ok()?.take(HEAD_BYTES));
    head.lines().map_while(Result::ok).find_map(|line| {
        let event: Value = serde_json::from_str(&line).ok()?;
        let text = |name| event[name].as_str().filter(|_| event["type"] == "session");
        Some((text("id")?.to_owned(), PathBuf::from(text("workspace")?)))
    })
}

pub fn find(root: &Path, id: &str) -> Option<PathBuf> {
    let agents = log::agents_of(&Paths::from_env().project(root));
    states(root).into_iter().chain([agents]).find_map(|state| list::find(&state, id).ok())
}

pub fn is_running(log: &Path) -> bool {
    matches!(SessionLog::open(log), Err(LogError::Busy { .. }))
}

fn session_of(folder: &Path, id: &str) -> Option<SessionReport> {
    let state = Paths::from_env().project(&folder.canonicalize().ok()?);
    session::read(&log::path_of(&state, id), 0).ok().flatten()
}

pub fn has_message(folder: &Path, id: &str) -> bool {
    session_of(folder, id).is_some_and(|session| !session.title.is_empty())
}

pub fn facts(output: &TaskOutput, place: &TaskDir) -> Value {
    let session = output.session.as_ref().and_then(|id| session_of(&place.folder, id)).unwrap_or_default();
    let figures = session.figures;
    json!({
        "session": output.session,
        "answer": output.answer,
        "error": output.error,
        "facts": (!output.facts.is_empty()).then_some(&output.facts),
        "changed": figures.files.keys().collect::<Vec<_>>(),
        "steps": figures.steps,
        "tokens": figures.tokens.total(),
        "cost_usd": figures.cost_usd(),
        "elapsed_ms": figures.active_ms,
        // A worktree is removed, unless its task failed.
        "folder": (place.tree.is_none() || output.exit_code != Some(0)).then_some(&place.folder),
    })
}
