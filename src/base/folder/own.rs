//! Our folders in a project, for people to read. Git ignores them unless the user changes that.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use super::atomic_write::{self, Expect};
use super::handle::Folder;
use crate::file::{self, FileError};

pub fn make(root: &Path, folder: &str) -> Result<(), FileError> {
    Folder::make(&root.join(folder))?;
    let _ = atomic_write::write_exactly(&root.join(folder).join(".gitignore"), b"*\n", Expect::Missing);
    Ok(())
}

pub fn append(root: &Path, folder: &str, name: &str, text: &str) -> io::Result<()> {
    make(root, folder).map_err(io::Error::other)?;
    let path = root.join(folder).join(name);
    file::open_private(OpenOptions::new().append(true).create(true), &path)?.write_all(text.as_bytes())
}
