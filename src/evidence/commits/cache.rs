//! Caches the commit history in the project's state folder. A damaged file is rebuilt from git.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::git::{self, MAX_COMMITS};
use super::history::{Commit, CommitHistory};
use base::file;
use base::folder::atomic_write::{self, Expect};
use guard::sandbox::git::question::GitQuestion;

const FILE: &str = "history.json";
/// Raise with every change of the layout or the word processing.
const LAYOUT: u64 = 5;
const TIME_LIMIT: Duration = Duration::from_secs(8);

/// For a large repository, only the newest part that could be read in time.
pub fn refreshed(root: &Path, folder: &Path) -> CommitHistory {
    let git = GitQuestion::about(root);
    let Some(head) = git.commit("HEAD") else { return CommitHistory::default() };
    let is_ancestor = |older: &str| git.ask(&["merge-base", "--is-ancestor", older, "HEAD"]).is_some();
    let older = read(&folder.join(FILE)).filter(|known| known.head == head || is_ancestor(&known.head));
    let since = older.as_ref().map(|older| older.head.as_str());
    if since == Some(head.as_str()) {
        return older.unwrap_or_default();
    }
    match git::log(root, &head, since, TIME_LIMIT) {
        Some(log) if !log.cut || older.is_none() => {
            let history = CommitHistory::gather(&head, &log.entries, older.as_ref(), MAX_COMMITS);
            let _ = write(folder, &history);
            history
        }
        // With a gap the past would be wrong, so use what is known; the next run tries again.
        _ => older.unwrap_or_default(),
    }
}

fn write(folder: &Path, history: &CommitHistory) -> io::Result<()> {
    let bytes = serde_json::to_vec(&(LAYOUT, history))?;
    atomic_write::write_private(&folder.join(FILE), &bytes, Expect::Anything).map_err(io::Error::other)
}

fn read(path: &Path) -> Option<CommitHistory> {
    let (layout, history): (u64, CommitHistory) = serde_json::from_slice(&file::read_own(path).ok()?).ok()?;
    let (terms, files) = (history.terms.len(), history.files.len());
    let fits = |commit: &Commit| {
        commit.terms.iter().all(|(term, _)| (*term as usize) < terms)
            && commit.files.iter().all(|file| (*file as usize) < files)
    };
    (layout == LAYOUT && history.commits.iter().all(fits)).then_some(history)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::commits::git::LogEntry;

    #[test]
    fn history_round_trip() {
        let dir = tempfile::tempdir().unwrap();
        let entry = |id: &str, message: &str, files: &[&str]| LogEntry {
            id: id.into(),
            message: message.into(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            moved: Vec::new(),
        };
        let old =
            CommitHistory::gather("one", &[entry("one", "Fix basket totals", &["a.rs", "b.rs"])], None, 10);
        let mut moving = entry("two", "Round totals", &["b.rs"]);
        moving.moved.push(("a.rs".into(), "c.rs".into()));
        let new = CommitHistory::gather("two", &[moving], Some(&old), 10);
        assert_eq!(new.commits.len(), 2);
        assert_eq!(new.files, ["b.rs", "c.rs"]);
        assert_eq!(new.commits[1].files, [1, 0], "what moved is known by its new path in older commits, too");
        write(dir.path(), &new).unwrap();
        assert_eq!(read(&dir.path().join(FILE)).unwrap(), new);
        assert_eq!(CommitHistory::gather("three", &[], Some(&new), 1).commits.len(), 1);
    }
}
