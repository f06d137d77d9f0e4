//! What a build changed, according to the undo journal, which includes the turns of its roles.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::git;
use super::roles::{self, Stop};
use crate::session::journal;
use base::process::task;
use context::report::figures::LineCounts;
use context::report::session;
use context::session::journal::inspect;
use context::session::journal::record::{JournalRecord, PathState};
use tools::cx::ToolCx;

/// The title of the journal's turn for what checks write.
pub const OF_CHECKS: &str = "checks of the build";

/// The files that differ from before the build, except those written only by checks.
pub fn all(cx: &ToolCx) -> BTreeMap<String, LineCounts> {
    let mut lines = lines(cx, |title| title != OF_CHECKS);
    for line in &mut lines {
        if let JournalRecord::Change(change) = line {
            // Include changes found after a kill: better one file too many than one that nobody reviews.
            change.doubtful = false;
        }
    }
    session::changed_files(lines, 0)
}

/// Compares the files themselves, because a kill may have come after the journal's line but before the change.
pub async fn made_by(cx: &ToolCx, part: &str) -> bool {
    let title = roles::turn_title(&[part]);
    let mut before: HashMap<PathBuf, PathState> = HashMap::new();
    for line in lines(cx, |known| known == title) {
        if let JournalRecord::Change(change) = line {
            before.entry(change.path).or_insert(change.before);
        }
    }
    let root = Arc::clone(&cx.root);
    let differs = move |(path, before): (PathBuf, PathState)| {
        let now = inspect::look_in(&root, &path, inspect::FILE_LIMIT_BYTES);
        now.is_ok_and(|(now, _)| now != before && now != PathState::Folder && before != PathState::Folder)
    };
    let looked = task::blocking(move || before.into_iter().any(differs));
    looked.await.unwrap_or_default()
}

/// Records in the journal what `work` changes.
pub async fn recorded<T>(cx: &ToolCx, title: String, work: impl Future<Output = T>) -> T {
    journal::ask(cx, move |journal| journal.before_command(&title, &AtomicBool::new(false))).await;
    let done = work.await;
    journal::ask(cx, |journal| drop(journal.after_command())).await;
    done
}

/// Uncommitted changes that no role made; the build's commits would include them.
pub async fn by_others(cx: &ToolCx) -> Result<Vec<PathBuf>, Stop> {
    let (root, found) = (Arc::clone(&cx.root), git::uncommitted(&cx.root).await?);
    let mut known: HashMap<PathBuf, Vec<PathState>> = HashMap::new();
    for line in lines(cx, |_| true) {
        if let JournalRecord::Change(change) = line {
            known.entry(change.path).or_default().extend([change.before, change.after]);
        }
    }
    let is_ours = move |path: &PathBuf| {
        let now = inspect::look_in(&root, path, inspect::FILE_LIMIT_BYTES);
        let states = known.get(path).map(Vec::as_slice).unwrap_or_default();
        now.is_ok_and(|(now, _)| states.iter().any(|state| state.same_content(&now)))
    };
    let others = move || found.into_iter().filter(|path| !is_ours(path)).collect();
    let looked = task::blocking(others).await;
    looked.map_err(|error| Stop::failed(error, "run the build again with --resume"))
}

fn lines(cx: &ToolCx, wanted: impl Fn(&str) -> bool) -> Vec<JournalRecord> {
    let mut lines = cx.journal.as_ref().map(|journal| journal.lines()).unwrap_or_default();
    let mut keeps = true;
    lines.retain(|line| {
        match line {
            JournalRecord::Turn { title, .. } => keeps = wanted(title),
            JournalRecord::Rewind { .. } => keeps = true,
            _ => {}
        }
        keeps
    });
    lines
}
