//! The notes folder: its files, and the writers' lock. Links are never followed, because a checkout may contain
//! them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::NoteError;
use super::record::FOLDER;
use base::file::{FileError, lock_within};
use base::folder::atomic_write::{self, Expect};
use base::folder::{exact, handle};
use base::path;
use base::system::os;

pub const ARCHIVE: &str = "archive";
pub const INDEX_FILE: &str = "notes_index.json";
const LOCK_FILE: &str = ".lock";
const MAX_FILES: usize = 20_000;
/// How long to wait for the lock: enough for several hundred writers.
const LOCK_WAIT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug)]
pub struct NoteFolder {
    /// The project: absolute and canonical.
    pub root: PathBuf,
    pub path: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FolderEntry {
    pub file: String,
    pub bytes: u64,
    pub modified_ns: i64,
}

/// Held while the folder is changed; released on drop.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl NoteFolder {
    pub fn new(root: &Path) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self { path: root.join(FOLDER), root }
    }

    pub fn exists(&self) -> Result<bool, NoteError> {
        if !path::follow(&self.path).starts_with(&self.root) {
            return Err(NoteError::Outside(self.path.clone()));
        }
        match fs::metadata(&self.path) {
            Ok(meta) if meta.is_dir() => Ok(true),
            Ok(_) => Err(NoteError::NotFolder(self.path.clone())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                Err(NoteError::NotFolder(self.path.parent().unwrap_or(&self.path).to_owned()))
            }
            Err(error) => Err(NoteError::file("", error)),
        }
    }

    /// Links are resolved here and not followed on opening, so the file stays in the project.
    fn real(&self, file: &str) -> Result<PathBuf, FileError> {
        let real = path::follow(&self.path);
        match real.starts_with(&self.root) {
            true if file.is_empty() => Ok(real),
            true => Ok(real.join(file)),
            false => Err(FileError::Unable("points outside the project".to_owned())),
        }
    }

    pub fn read(&self, file: &str, limit: u64) -> Result<Vec<u8>, FileError> {
        Ok(exact::read(&self.real(file)?, limit)?.0)
    }

    pub fn write(&self, file: &str, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
        let real = self.real(file)?;
        let (folder, name) = handle::Folder::of(&real)?;
        atomic_write::write_in(&folder, name, bytes, expect)
    }

    /// Moves a file within the folder; [`FileError::Exists`] if the new name is taken.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), FileError> {
        let (from, to) = (self.real(from)?, self.real(to)?);
        let ((old, from), (new, to)) = (handle::Folder::of(&from)?, handle::Folder::of(&to)?);
        old.rename_new(from, &new, to)
    }

    pub fn make_archive(&self) -> Result<(), NoteError> {
        let refused = |error: FileError| NoteError::file(ARCHIVE, error);
        let real = self.real(ARCHIVE).map_err(refused)?;
        let (folder, name) = handle::Folder::of(&real).map_err(refused)?;
        match folder.make_folder(name) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(NoteError::NotFolder(self.path.join(ARCHIVE)))
            }
            Err(error) => Err(NoteError::file(ARCHIVE, error)),
        }
    }

    /// Files that may be notes, by name, archived ones last; and which ones were left out, and why.
    pub fn files(&self) -> Result<(Vec<FolderEntry>, Vec<String>), NoteError> {
        let mut seen = Vec::new();
        let mut left_out = Vec::new();
        if !self.exists()? {
            return Ok((seen, left_out));
        }
        let refused = |error: FileError| NoteError::file("", error);
        list(&self.real("").map_err(refused)?, "", &mut seen, &mut left_out)
            .map_err(|error| NoteError::file("", error))?;
        let archive = self.real(ARCHIVE).map_err(refused)?;
        match exact::look(&archive) {
            Ok(meta) if meta.is_dir() => {
                let prefix = format!("{ARCHIVE}/");
                list(&archive, &prefix, &mut seen, &mut left_out)
                    .map_err(|error| NoteError::file(ARCHIVE, error))?;
            }
            Ok(_) => left_out.push(format!("{ARCHIVE} is not a folder: skipped")),
            Err(_) => {}
        }
        if seen.len() > MAX_FILES {
            left_out.push(format!("{} of {} files were skipped", seen.len() - MAX_FILES, seen.len()));
            seen.truncate(MAX_FILES);
        }
        Ok((seen, left_out))
    }

    /// Takes the lock, creating the folder if needed. Waits at most a few seconds for other writers.
    pub fn lock(&self) -> Result<Lock, NoteError> {
        if !self.exists()? {
            let real = self.real("").map_err(|error| NoteError::file("", error))?;
            handle::Folder::make(&real).map_err(|error| NoteError::file("", error))?;
            self.keep_out_of_git();
        }
        let file = self.lock_file().map_err(|error| NoteError::file("", error))?;
        // Without locks, unique names and checked writes still protect the notes.
        match lock_within(LOCK_WAIT, &file) {
            Ok(false) => Err(NoteError::Busy),
            _ => Ok(Lock { _file: file }),
        }
    }

    /// The lock, if it is free now and the folder is writable.
    pub fn lock_if_free(&self) -> Option<Lock> {
        let file = self.lock_file().ok()?;
        file.try_lock().ok()?;
        Some(Lock { _file: file })
    }

    fn lock_file(&self) -> Result<File, FileError> {
        self.within(LOCK_FILE, handle::Folder::open_lock)
    }

    fn within(
        &self,
        file: &str,
        open: fn(&handle::Folder, &OsStr) -> io::Result<File>,
    ) -> Result<File, FileError> {
        let real = self.real(file)?;
        let (folder, name) = handle::Folder::of(&real)?;
        Ok(open(&folder, name)?)
    }

    /// Notes may be committed, but not files derived from them. Failure is harmless.
    fn keep_out_of_git(&self) {
        if let Ok(mut file) = self.within(".gitignore", |folder, name| folder.create_new(name, 0o666)) {
            let _ = writeln!(file, "{INDEX_FILE}\n{LOCK_FILE}\n.mycode-*.tmp");
        }
    }
}

fn list(
    folder: &Path,
    prefix: &str,
    seen: &mut Vec<FolderEntry>,
    left_out: &mut Vec<String>,
) -> std::io::Result<()> {
    let mut found = Vec::new();
    let folder = handle::Folder::open(folder)?;
    for entry in folder.names()? {
        let Some(name) = entry.to_str() else { continue };
        let is_markdown =
            name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("md"));
        if !is_markdown || name.starts_with('.') {
            continue;
        }
        let Ok(meta) = folder.look(&entry) else { continue };
        let file = format!("{prefix}{name}");
        if meta.is_symlink() {
            left_out.push(format!("{file} is a link: skipped"));
        } else if meta.is_file() {
            let modified_ns = os::facts(&meta).modified_ns;
            found.push(FolderEntry { file, bytes: meta.len(), modified_ns });
        }
    }
    found.sort_by(|a, b| a.file.cmp(&b.file));
    seen.append(&mut found);
    Ok(())
}
