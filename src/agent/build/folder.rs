//! A build's folder, `.mycode/builds/<id>`: the files that each stage writes, for people to read and edit.

use std::fs;
use std::path::{Path, PathBuf};

use base::file::{self, FileError};
use base::folder::atomic_write::{self, Expect};
use base::folder::handle::Folder;

/// Relative to the project.
const FOLDER: &str = ".mycode/builds";
/// A larger file can't be ours.
const MAX_BYTES: u64 = 4 << 20;

#[derive(Clone, Debug)]
pub struct BuildFolder {
    root: PathBuf,
    /// Relative to the project.
    pub name: String,
}

impl BuildFolder {
    /// Creates or opens the folder of build `id`.
    pub fn open(root: &Path, id: &str) -> Result<Self, FileError> {
        let name = format!("{FOLDER}/{id}");
        Folder::make(&root.join(&name))?;
        // Keeps builds out of git, unless the user changes this file.
        let _ = atomic_write::write_exactly(&root.join(FOLDER).join(".gitignore"), b"*\n", Expect::Missing);
        Ok(Self { root: root.to_owned(), name })
    }

    /// Oldest first.
    pub fn ids(root: &Path) -> Vec<String> {
        let entries = fs::read_dir(root.join(FOLDER)).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut ids: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        ids.sort();
        ids
    }

    /// A file's path relative to the project.
    pub fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.name)
    }

    /// A file's text; `None` if it is missing or blank.
    pub fn read(&self, file: &str) -> Option<String> {
        let text = file::small_text(&self.root.join(self.path(file)), MAX_BYTES)?;
        (!text.trim().is_empty()).then_some(text)
    }

    /// Writes a file with exactly one trailing newline.
    pub fn write(&self, file: &str, text: &str) -> Result<(), FileError> {
        let text = format!("{}\n", text.trim_end());
        atomic_write::write_exactly(&self.root.join(self.path(file)), text.as_bytes(), Expect::Anything)
    }
}
