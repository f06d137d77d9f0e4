//! Caches the commit history in the project's state folder. A damaged file is rebuilt from git.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use super::git::{self, LogRange, LogRead, MAX_COMMITS};
use super::history::{Commit, CommitHistory};
use crate::index::format::{Cursor, Damaged, put_bytes, put_number, seal, unseal};
use base::file;
use base::folder::atomic_write::{self, Expect};

const FILE: &str = "history.bin";
/// Raise with every change of the layout or the word processing.
const LAYOUT: u64 = 4;
/// Commits read between saves: at most this many are lost when a run is interrupted.
const SLICE: usize = 1_000;
/// The rest is left to the next run.
const TIME_LIMIT: Duration = Duration::from_secs(8);

/// In a large repository the first runs only know the newest part.
pub fn refreshed(root: &Path, folder: &Path) -> CommitHistory {
    let kept = read(&folder.join(FILE)).ok();
    let Some(head) = git::head(root) else { return CommitHistory::default() };
    let start = Instant::now();
    let older = kept.filter(|kept| kept.head == head || git::is_ancestor(root, &kept.head));
    let mut history = match older {
        Some(history) if history.head == head => history,
        older => match begun(root, &head, older.as_ref()) {
            Some(history) => keep(folder, history),
            // Git was interrupted: use what is known; the next run tries again.
            None => return older.unwrap_or_default(),
        },
    };
    while let Some((from, read)) = history.rest.clone()
        && let Some(time_limit) = TIME_LIMIT.checked_sub(start.elapsed())
    {
        let range = LogRange { from: &from, since: None, skip: read, limit: SLICE };
        let Some(log) = git::log(root, range, time_limit) else { break };
        history.extend(&log.entries, MAX_COMMITS);
        history.rest = rest(&history, from, read, &log);
        history = keep(folder, history);
    }
    history
}

/// The newest commits, merged with the older history.
fn begun(root: &Path, head: &str, older: Option<&CommitHistory>) -> Option<CommitHistory> {
    let since = older.map(|older| older.head.as_str());
    let log = git::log(root, LogRange { from: head, since, skip: 0, limit: SLICE }, TIME_LIMIT)?;
    if log.cut && older.is_some() {
        return None;
    }
    // Too many new commits: keeping the older history would leave a gap.
    let older = older.filter(|_| log.entries.len() < SLICE);
    let mut history = CommitHistory::gather(head, &log.entries, older, MAX_COMMITS);
    if older.is_none() {
        history.rest = rest(&history, head.to_owned(), 0, &log);
    }
    Some(history)
}

fn rest(history: &CommitHistory, from: String, read: usize, log: &LogRead) -> Option<(String, usize)> {
    let more = log.cut || log.entries.len() == SLICE;
    (more && history.commits.len() < MAX_COMMITS).then_some((from, read + log.entries.len()))
}

fn keep(folder: &Path, history: CommitHistory) -> CommitHistory {
    // If writing fails, the next run reads git again.
    let _ = write(folder, &history);
    history
}

fn write(folder: &Path, history: &CommitHistory) -> io::Result<()> {
    let mut bytes = Vec::new();
    put_number(&mut bytes, LAYOUT);
    put_bytes(&mut bytes, history.head.as_bytes());
    for names in [&history.terms, &history.files] {
        put_number(&mut bytes, names.len() as u64);
        for name in names {
            put_bytes(&mut bytes, name.as_bytes());
        }
    }
    put_number(&mut bytes, history.commits.len() as u64);
    for commit in &history.commits {
        put_number(&mut bytes, commit.time_s);
        put_number(&mut bytes, commit.terms.len() as u64);
        let mut last = 0;
        for (term, times) in &commit.terms {
            put_number(&mut bytes, u64::from(term - last));
            put_number(&mut bytes, u64::from(*times));
            last = *term;
        }
        put_number(&mut bytes, commit.files.len() as u64);
        for file in &commit.files {
            put_number(&mut bytes, u64::from(*file));
        }
    }
    put_number(&mut bytes, history.moved.len() as u64);
    for (old, now) in &history.moved {
        put_bytes(&mut bytes, old.as_bytes());
        put_bytes(&mut bytes, now.as_bytes());
    }
    let (from, read) = history.rest.as_ref().map_or(("", 0), |(from, read)| (from.as_str(), *read));
    put_bytes(&mut bytes, from.as_bytes());
    put_number(&mut bytes, read as u64);
    atomic_write::write_private(&folder.join(FILE), &seal(bytes), Expect::Anything).map_err(io::Error::other)
}

fn read(path: &Path) -> Result<CommitHistory, Damaged> {
    let bytes = file::read_own(path).map_err(|_| Damaged)?;
    let mut cursor = Cursor::new(unseal(&bytes)?);
    if cursor.number()? != LAYOUT {
        return Err(Damaged);
    }
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Damaged);
    let mut history = CommitHistory { head: text(cursor.bytes()?)?, ..CommitHistory::default() };
    for names in [&mut history.terms, &mut history.files] {
        for _ in 0..cursor.number()? {
            names.push(text(cursor.bytes()?)?);
        }
    }
    for _ in 0..cursor.number()? {
        let mut commit = Commit { time_s: cursor.number()?, ..Commit::default() };
        let mut last = 0_u32;
        for _ in 0..cursor.number()? {
            last = last.checked_add(cursor.small()?).ok_or(Damaged)?;
            commit.terms.push((last, cursor.small()?));
        }
        for _ in 0..cursor.number()? {
            commit.files.push(cursor.small()?);
        }
        let (terms, files) = (history.terms.len() as u32, history.files.len() as u32);
        let foreign = commit.terms.last().is_some_and(|(term, _)| *term >= terms);
        if foreign || commit.files.iter().any(|file| *file >= files) {
            return Err(Damaged);
        }
        commit.terms.shrink_to_fit();
        commit.files.shrink_to_fit();
        history.commits.push(commit);
    }
    for _ in 0..cursor.number()? {
        let old = text(cursor.bytes()?)?;
        history.moved.insert(old, text(cursor.bytes()?)?);
    }
    let from = text(cursor.bytes()?)?;
    let read = cursor.small()? as usize;
    history.rest = (!from.is_empty()).then_some((from, read));
    Ok(history)
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
            time_s: 9,
            message: message.into(),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            moved: Vec::new(),
        };
        let old =
            CommitHistory::gather("one", &[entry("one", "Fix basket totals", &["a.rs", "b.rs"])], None, 10);
        let mut moving = entry("two", "Round totals", &["b.rs"]);
        moving.moved.push(("a.rs".into(), "c.rs".into()));
        let mut new = CommitHistory::gather("two", &[moving], Some(&old), 10);
        new.rest = Some(("one".into(), 1));
        assert_eq!(new.commits.len(), 2);
        assert_eq!(new.files, ["b.rs", "c.rs"]);
        new.extend(&[entry("zero", "Bake", &["a.rs"])], 10);
        assert_eq!(new.commits[2].files, [1], "what moved is known by its new path in older commits, too");
        write(dir.path(), &new).unwrap();
        assert_eq!(read(&dir.path().join(FILE)).unwrap(), new);
        assert_eq!(CommitHistory::gather("three", &[], Some(&new), 1).commits.len(), 1);
    }

    #[test]
    fn interrupted_read_continues() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.arg("-C").arg(dir.path()).args(["-c", "user.name=T", "-c", "user.email=t@x.example"]);
            let output =
                command.args(["-c", "commit.gpgsign=false"]).args(args).stderr(std::process::Stdio::null());
            assert!(output.output().unwrap().status.success());
        };
        git(&["init", "-q"]);
        for number in 0..3 {
            git(&["commit", "-q", "--allow-empty", "-m", &format!("Number {number}")]);
        }
        let state = dir.path().join("state");
        let mut part = refreshed(dir.path(), &state);
        assert_eq!((part.commits.len(), &part.rest), (3, &None));
        part.commits.truncate(1);
        part.rest = Some((part.head.clone(), 1));
        write(&state, &part).unwrap();
        git(&["commit", "-q", "--allow-empty", "-m", "Meanwhile"]);
        let whole = refreshed(dir.path(), &state);
        assert_eq!((whole.commits.len(), &whole.rest), (4, &None));
        assert_eq!(refreshed(dir.path(), &state), whole);
    }
}
