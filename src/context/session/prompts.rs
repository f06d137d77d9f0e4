//! What the user types, kept across crashes and projects: sent prompts for Ctrl-R, one JSON line each, and the unsent
//! draft in the composer.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use super::log;
use base::folder::atomic_write::{self, Expect};
use base::protocol::event::PastPrompt;
use base::system::os;
use base::{clock, file};
use parking_lot::Mutex;

/// A larger file is cut to its newer half.
const MAX_BYTES: u64 = 2 * 1024 * 1024;
/// Anything larger was probably pasted.
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
    // Don't append to a line torn by a crash.
    if !log::ends_with_line_end(&mut file)? {
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

/// The file, opened to append and locked until closed. Retries if another process replaced it in the meantime.
fn locked(path: &Path) -> io::Result<File> {
    loop {
        let file = file::open_private(OpenOptions::new().read(true).append(true).create(true), path)?;
        // Without locks, one write per line has to do.
        if file.lock().is_err() {
            return Ok(file);
        }
        let id = |meta: std::fs::Metadata| os::facts(&meta).id;
        if path.metadata().map(id).ok() == file.metadata().map(id).ok() {
            return Ok(file);
        }
    }
}

fn shorten(path: &Path) -> io::Result<()> {
    let bytes = file::read_own(path).map_err(io::Error::other)?;
    let half = &bytes[bytes.len() / 2..];
    let start = half.iter().position(|byte| *byte == b'\n').map_or(half.len(), |at| at + 1);
    atomic_write::write_private(path, &half[start..], Expect::Anything).map_err(io::Error::other)
}

const MAX_DRAFT_BYTES: usize = 1024 * 1024;

/// Each running program locks a draft file of its own. A leftover draft is given to the next program once.
pub struct Drafts {
    folder: PathBuf,
    own: Mutex<Own>,
}

#[derive(Default)]
struct Own {
    text: Option<String>,
    file: Option<(PathBuf, File)>,
}

impl Drafts {
    pub fn new(project_state: &Path) -> Self {
        Self { folder: project_state.join("drafts"), own: Mutex::default() }
    }

    pub fn set(&self, text: String) {
        self.own.lock().text = Some(text);
    }

    /// Blocks.
    pub fn write(&self) -> io::Result<()> {
        let mut own = self.own.lock();
        let Some(text) = own.text.take().filter(|text| text.len() <= MAX_DRAFT_BYTES) else { return Ok(()) };
        if text.is_empty() {
            // Removed before it is closed, which unlocks it.
            return own.file.take().map_or(Ok(()), |(path, _file)| fs::remove_file(path));
        }
        if own.file.is_none() {
            file::create_private_folder(&self.folder)?;
            let path = self.folder.join(format!("{}-{}.txt", std::process::id(), clock::now_ms()));
            let file = file::open_private(OpenOptions::new().write(true).create_new(true), &path)?;
            file.try_lock().map_err(io::Error::other)?;
            own.file = Some((path, file));
        }
        if let Some((_, file)) = &mut own.file {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(text.as_bytes())?;
        }
        Ok(())
    }

    /// The latest draft of a program that has ended. Blocks.
    pub fn take(&self) -> Option<String> {
        let mut left: Vec<_> = fs::read_dir(&self.folder)
            .ok()?
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        left.sort();
        left.into_iter().rev().find_map(|(_, path)| {
            let (file, _) = file::open(&path).ok()?;
            file.try_lock().ok()?;
            let text = file::small_text(&path, MAX_DRAFT_BYTES as u64);
            fs::remove_file(&path).ok()?;
            text.filter(|text| !text.trim().is_empty())
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

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

    #[test]
    fn a_draft_outlives_its_program_once() {
        let dir = tempfile::tempdir().unwrap();
        let save = |drafts: &Drafts, text: &str| {
            drafts.set(text.to_owned());
            drafts.write().unwrap();
        };
        let (first, second) = (Drafts::new(dir.path()), Drafts::new(dir.path()));
        save(&first, "a longer text");
        save(&first, "half a thou");
        assert_eq!(second.take(), None, "its program lives");
        drop(first);
        assert_eq!(second.take().as_deref(), Some("half a thou"));
        assert_eq!(second.take(), None);
        save(&second, "sent");
        save(&second, "");
        drop(second);
        assert_eq!(Drafts::new(dir.path()).take(), None);
    }
}
