//! The sessions of a batch's tasks, which worked in folders of their own and have their state elsewhere.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::task_dir::FOLDER;
use base::config::paths::Paths;
use context::session::list;

/// Of a file of events: the first lines name the folder.
const HEAD_BYTES: u64 = 64 * 1024;

/// The state folders of all tasks of the batches in `root`.
pub fn states(root: &Path) -> Vec<PathBuf> {
    let paths = Paths::from_env();
    let batches = fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten();
    let files = batches.flat_map(|batch| fs::read_dir(batch.path()).into_iter().flatten().flatten());
    let events =
        files.map(|file| file.path()).filter(|file| file.to_string_lossy().ends_with(".events.jsonl"));
    let folders: BTreeSet<PathBuf> = events.filter_map(|file| folder_of(&file)).collect();
    folders.iter().filter(|folder| *folder != root).map(|folder| paths.project(folder)).collect()
}

fn folder_of(events: &Path) -> Option<PathBuf> {
    let head = BufReader::new(File::open(events).ok()?.take(HEAD_BYTES));
    head.lines().map_while(Result::ok).find_map(|line| {
        let event: Value = serde_json::from_str(&line).ok()?;
        (event["type"] == "session").then(|| event["workspace"].as_str().map(PathBuf::from))?
    })
}

/// The log of the task's session with this id (or the beginning of it).
pub fn find(root: &Path, id: &str) -> Option<PathBuf> {
    states(root).iter().find_map(|state| list::find(state, id).ok())
}
