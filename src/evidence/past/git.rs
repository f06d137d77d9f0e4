//! Asking git for the commits of a folder. The repository may be a stranger's: nothing that its configuration names is
//! run, nothing is fetched, and the time is bounded.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::base::leash::{self, Leash};

/// One commit as git tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub id: String,
    /// Seconds since 1970.
    pub time_s: u64,
    pub message: String,
    /// Paths relative to the folder.
    pub files: Vec<String>,
}

/// Commits that are read at first; older ones tell little of today's files.
pub const MAX_COMMITS: usize = 8_000;
/// Of a longer message only the beginning counts.
const MAX_MESSAGE_BYTES: usize = 2_000;
/// Larger commits are sweeps; their file lists are cut here and they weigh little anyway.
const MAX_FILES: usize = 64;
const PATIENCE: Duration = Duration::from_secs(20);
/// The same for a question with a short answer.
const ANSWER: Duration = Duration::from_secs(5);

fn git(root: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .arg("-C")
        .arg(root)
        .args(["-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "core.quotePath=false"])
        .args([
            "-c",
            "log.mailmap=false",
            "-c",
            "diff.renames=false",
            "-c",
            "core.hooksPath=/dev/null",
            "--no-pager",
        ])
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .stdout(Stdio::piped());
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF"] {
        command.env_remove(name);
    }
    command
}

/// The commit that is checked out; `None` without git or without commits.
pub fn head(root: &Path) -> Option<String> {
    let output = leash::ask(git(root).args(["rev-parse", "--verify", "--quiet", "HEAD"]), b"", ANSWER)?;
    let text = String::from_utf8(output).ok()?.trim().to_owned();
    (text.len() >= 40).then_some(text)
}

/// Whether `older` is an ancestor of what is checked out.
pub fn is_ancestor(root: &Path, older: &str) -> bool {
    leash::ask(git(root).args(["merge-base", "--is-ancestor", older, "HEAD"]), b"", ANSWER).is_some()
}

/// The commits of the folder, newest first, without merges; only those after `since` when it is given.
pub fn log(root: &Path, since: Option<&str>) -> Vec<LogEntry> {
    let mut command = git(root);
    command
        .args([
            "log",
            "--no-merges",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--name-only",
        ])
        .arg("--relative")
        .arg(format!("--max-count={MAX_COMMITS}"))
        .arg("--format=%x01%H %ct%n%B%x02");
    match since {
        Some(since) => command.arg(format!("{since}..HEAD")),
        None => command.arg("HEAD"),
    };
    // At the top the limit to the folder would only cost time.
    if !root.join(".git").exists() {
        command.args(["--", "."]);
    }
    let Ok(mut child) = command.process_group(0).spawn() else { return Vec::new() };
    let leash = Leash::new(&child, PATIENCE);
    let entries = child.stdout.take().map(|stdout| parse(BufReader::new(stdout))).unwrap_or_default();
    let _ = child.kill();
    drop(leash);
    let _ = child.wait();
    entries
}

fn parse(mut output: impl BufRead) -> Vec<LogEntry> {
    let start = Instant::now();
    let mut entries = Vec::new();
    let mut record = Vec::new();
    while start.elapsed() < PATIENCE {
        record.clear();
        // A record is huge only where somebody checked in a world at once.
        let read = output.by_ref().take(64 << 20).read_until(1, &mut record);
        if !matches!(read, Ok(count) if count > 0) {
            break;
        }
        let text = String::from_utf8_lossy(&record);
        entries.extend(entry(text.trim_end_matches('\u{1}')));
    }
    entries
}

fn entry(record: &str) -> Option<LogEntry> {
    let (head, files) = record.split_once('\u{2}')?;
    let (first, message) = head.split_once('\n')?;
    let (id, time) = first.split_once(' ')?;
    let cut = crate::base::text::floor_boundary(message, MAX_MESSAGE_BYTES);
    let files = files.lines().filter(|line| !line.is_empty()).take(MAX_FILES);
    Some(LogEntry {
        id: id.to_owned(),
        time_s: time.parse().ok()?,
        message: message[..cut].trim().to_owned(),
        files: files.map(|file| file.trim_matches('"').to_owned()).collect(),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn records_are_taken_apart() {
        let text =
            "\u{1}abc 17\nTitle\n\nBody\n\u{2}\n\na.rs\nb/ü.rs\n\u{1}def 16\nNo files\n\u{2}\n\u{1}broken";
        let entries = parse(text.as_bytes());
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].message, "Title\n\nBody");
        assert_eq!(entries[0].files, ["a.rs", "b/ü.rs"]);
        assert!(entries[1].files.is_empty() && entries[1].time_s == 16);
    }

    #[test]
    fn without_git_there_is_no_past() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(head(dir.path()), None);
        assert!(log(dir.path(), None).is_empty());
    }
}
