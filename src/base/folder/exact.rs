//! What stands at exactly this absolute path: no part of it may be a link any more, or nothing is read. For paths from which
//! links were resolved, and which somebody then judged.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::handle::Folder;
use super::no_links::{self, LOOK};
use crate::file::{self, FileError};

/// What stands there; a link at the end is looked at itself.
pub fn look(path: &Path) -> io::Result<Metadata> {
    File::from(no_links::open(path, LOOK)?).metadata()
}

/// Opens a regular file for reading.
pub fn open(path: &Path) -> Result<(File, Metadata), FileError> {
    let (folder, name) = Folder::of(path)?;
    folder.open_file(name)
}

/// Like [`open`], with fewer calls, for what a walk has just seen as a regular file.
pub fn open_seen(path: &Path) -> Result<File, FileError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(no_links::open(path, flags)?);
    file::check_kind(&file.metadata()?)?;
    Ok(file)
}

/// Reads a whole regular file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> Result<(Vec<u8>, Metadata), FileError> {
    let (file, meta) = open(path)?;
    Ok((file::read_all(file, &meta, limit)?, meta))
}

/// Where the link there leads.
pub fn read_link(path: &Path) -> Result<PathBuf, FileError> {
    let (folder, name) = Folder::of(path)?;
    Ok(folder.read_link(name)?)
}
