//! Access to exactly this absolute path: fails if any part of it has become a link. For paths that were
//! already resolved and judged.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use super::handle::{self, Folder};
use crate::file::{self, FileError};

pub fn look(path: &Path) -> io::Result<Metadata> {
    handle::look(path)
}

pub fn open(path: &Path) -> Result<(File, Metadata), FileError> {
    let (folder, name) = Folder::of(path)?;
    folder.open_file(name)
}

/// Like [`open`] with fewer system calls, for what a walk has just seen as a regular file.
pub fn open_seen(path: &Path) -> Result<File, FileError> {
    let file = handle::open(path)?;
    file::check_kind(&file.metadata()?)?;
    Ok(file)
}

pub fn read(path: &Path, limit: u64) -> Result<(Vec<u8>, Metadata), FileError> {
    let (file, meta) = open(path)?;
    Ok((file::read_all(file, &meta, limit)?, meta))
}

pub fn read_link(path: &Path) -> Result<PathBuf, FileError> {
    let (folder, name) = Folder::of(path)?;
    Ok(folder.read_link(name)?)
}
