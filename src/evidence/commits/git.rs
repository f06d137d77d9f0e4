//! Queries git. The repository may be untrusted: nothing that its configuration names is run, nothing is fetched.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use base::process::timeout::{self, Timeout};
use base::system::os;
use guard::sandbox::git::question::GitQuestion;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEntry {
    pub id: String,
    pub message: String,
    pub files: Vec<String>,
    /// Pure renames: (old, new).
    pub moved: Vec<(String, String)>,
}

/// Commits read at first; older ones tell little about today's files.
pub const MAX_COMMITS: usize = 8_000;
const MAX_MESSAGE_BYTES: usize = 2_000;
/// Larger commits are sweeping changes with little weight, so their file lists are cut.
const MAX_FILES: usize = 64;
/// Renaming a folder moves many files at once.
const MAX_MOVED: usize = 5_000;
const ANSWER: Duration = Duration::from_secs(5);

fn git(root: &Path) -> Command {
    let mut command = GitQuestion::about(root).command();
    command
        // A first commit contains everything, so it doesn't show what changes together.
        .args(["-c", "log.mailmap=false", "-c", "log.showRoot=false"])
        // Limits git's memory use in a large repository.
        .args(["-c", "core.deltaBaseCacheLimit=8m", "-c", "core.packedGitWindowSize=1m"])
        .args(["-c", "core.packedGitLimit=8m"]);
    command
}

/// Stages a change, as `git add -p` does; returns whether it applied. Paths are relative to `root`.
pub fn stage(root: &Path, patch: &str) -> bool {
    let mut command = git(root);
    command.args(["apply", "--cached", "--whitespace=nowarn", "-"]);
    timeout::ask(&mut command, patch.as_bytes(), ANSWER).is_some()
}

#[derive(Debug, Default)]
pub struct LogRead {
    pub entries: Vec<LogEntry>,
    pub cut: bool,
}

/// The folder's commits up to `head`, newest first, without merges and those reachable from `since`. `None` if git fails.
pub fn log(root: &Path, head: &str, since: Option<&str>, time_limit: Duration) -> Option<LogRead> {
    let mut command = git(root);
    command
        .args(["log", "--no-merges", "--no-ext-diff", "--no-textconv", "--no-color", "--name-status"])
        // Only exact renames, because those don't require reading file contents.
        .arg("--find-renames=100%")
        .arg("--relative")
        .arg(format!("--max-count={MAX_COMMITS}"))
        .arg("--format=%x01%H%n%B%x02")
        .arg(since.map_or_else(|| head.to_owned(), |since| format!("{since}..{head}")));
    // At the repository's top level, a path filter would only cost time.
    if !root.join(".git").exists() {
        command.args(["--", "."]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    os::in_own_group(&mut command);
    let mut child = command.spawn().ok()?;
    // git may print nothing for minutes if only few commits touch the folder, so use a timer.
    let timeout = Timeout::new(&child, time_limit);
    let mut entries = child.stdout.take().map(|stdout| parse(BufReader::new(stdout))).unwrap_or_default();
    let status = timeout.end(child)?;
    let cut = os::signal_of(status).is_some();
    if cut {
        // Its file list may be incomplete.
        entries.pop();
    }
    (status.success() || cut).then_some(LogRead { entries, cut })
}

fn parse(mut output: impl BufRead) -> Vec<LogEntry> {
    let mut entries = Vec::new();
    let mut record = Vec::new();
    loop {
        record.clear();
        // Only huge initial imports have such large records.
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
    let (id, message) = head.split_once('\n')?;
    let cut = message.floor_char_boundary(MAX_MESSAGE_BYTES);
    let mut entry = LogEntry {
        id: id.to_owned(),
        message: message[..cut].trim().to_owned(),
        files: Vec::new(),
        moved: Vec::new(),
    };
    for line in files.lines() {
        let mut fields = line.split('\t').map(|field| field.trim_matches('"'));
        let (Some(status), Some(path)) = (fields.next(), fields.next()) else { continue };
        let now = fields.next();
        if let Some(now) = now.filter(|_| status.starts_with('R') && entry.moved.len() < MAX_MOVED) {
            entry.moved.push((path.to_owned(), now.to_owned()));
        }
        if entry.files.len() < MAX_FILES {
            entry.files.push(now.unwrap_or(path).to_owned());
        }
    }
    Some(entry)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn log_records() {
        let text = "\u{1}abc\nTitle\n\nBody\n\u{2}\n\nM\ta.rs\nR100\tb/old.rs\tb/ü.rs\n\u{1}def\nNo files\n\u{2}\n\u{1}broken";
        let entries = parse(text.as_bytes());
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].message, "Title\n\nBody");
        assert_eq!(entries[0].files, ["a.rs", "b/ü.rs"]);
        assert_eq!(entries[0].moved, [("b/old.rs".to_owned(), "b/ü.rs".to_owned())]);
        assert!(entries[1].files.is_empty());
    }

    #[test]
    fn no_git_no_history() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(GitQuestion::about(dir.path()).commit("HEAD"), None);
        assert!(log(dir.path(), "HEAD", None, Duration::from_secs(60)).is_none());
    }
}
