//! The prompts of the user across all projects, one JSON line each, for Ctrl-R. Several processes append
//! under a lock; a file that grows too large keeps its newer half.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use base::file;
use base::folder::atomic_write::{self, Expect};
use base::protocol::event::PastPrompt;

const MAX_BYTES: u64 = 2 * 1024 * 1024;
/// Anything larger was pasted.
const MAX_PROMPT_BYTES: usize = 32 * 1024;

pub fn append(path: &Path, prompt: &PastPrompt) -> io::Result<()> {
    if prompt.text.len() > MAX_PROMPT_BYTES {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        file::create_private_folder(folder)?;
    }
    let mut line = serde_json::to_vec(prompt)?;
    line.push(b'\n');
    let mut file = locked(path)?;
    // A torn line (from a crash) must not swallow this one.
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() && file.read_exact(&mut last).is_ok() && last != [b'\n'] {
        line.insert(0, b'\n');
    }
    file.write_all(&line)?;
    if file.metadata()?.len() > MAX_BYTES { shorten(path) } else { Ok(()) }
}

pub fn read(path: &Path) -> Vec<PastPrompt> {
    let bytes = file::read_own(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let mut known = std::collections::HashSet::new();
    let prompts = text.lines().rev().filter_map(|line| serde_json::from_str::<PastPrompt>(line).ok());
    prompts.filter(|prompt| known.insert(prompt.text.clone())).collect()
}

/// The file, opened to append and locked until closed. Retries if another process replaced it meanwhile.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        let file = file::open_private(OpenOptions::new().read(true).append(true).create(true), path)?;
        // Without locks, one write per line is as safe as it gets.
        if file.lock().is_err() {
            return Ok(file);
        }
        let same = path.metadata().is_ok_and(|now| file.metadata().is_ok_and(|ours| ours.ino() == now.ino()));
        if same {
            return Ok(file);
        }
    }
}

/// Call with the lock held.
fn shorten(path: &Path) -> io::Result<()> {
    let bytes = file::read_own(path).map_err(io::Error::other)?;
    let half = &bytes[bytes.len() / 2..];
    let start = half.iter().position(|byte| *byte == b'\n').map_or(half.len(), |at| at + 1);
    atomic_write::write_private(path, &half[start..], Expect::Anything).map_err(io::Error::other)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn prompt(text: &str) -> PastPrompt {
        PastPrompt { at_ms: 1, folder: "/p".to_owned(), text: text.to_owned() }
    }

    #[test]
    fn newest_first_each_once_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/prompts.jsonl");
        for text in ["one", "two\nlines", "one"] {
            append(&path, &prompt(text)).unwrap();
        }
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"torn").unwrap();
        append(&path, &prompt("three")).unwrap();
        let texts: Vec<String> = read(&path).into_iter().map(|prompt| prompt.text).collect();
        assert_eq!(texts, ["three", "one", "two\nlines"]);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn many_at_once_and_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("prompts.jsonl");
        let long = "x".repeat(30_000);
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let (path, long) = (&path, &long);
                scope.spawn(move || {
                    for number in 0..40 {
                        append(path, &prompt(&format!("{writer} {number} {long}"))).unwrap();
                    }
                });
            }
        });
        let size = path.metadata().unwrap().len();
        assert!(size < MAX_BYTES + 40_000, "{size}");
        let lines = std::fs::read_to_string(&path).unwrap();
        assert!(lines.lines().all(|line| serde_json::from_str::<PastPrompt>(line).is_ok()));
        assert!(read(&path).len() > 30);
    }
}
