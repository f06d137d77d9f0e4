//! What is in the composer, kept in case the program or the machine ends: one file per running program,
//! locked while it lives. A leftover draft is given to the next program, once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use base::{clock, file};

const MAX_BYTES: usize = 1024 * 1024;

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
        self.own.lock().unwrap_or_else(PoisonError::into_inner).text = Some(text);
    }

    /// Blocks.
    pub fn write(&self) -> io::Result<()> {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(text) = own.text.take().filter(|text| text.len() <= MAX_BYTES) else { return Ok(()) };
        if text.is_empty() {
            // Closed, and thereby unlocked, only after the removal.
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

    /// The latest draft whose program has ended. Blocks.
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
            let text = file::small_text(&path, MAX_BYTES as u64);
            fs::remove_file(&path).ok()?;
            text.filter(|text| !text.trim().is_empty())
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
