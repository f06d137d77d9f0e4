//! Inspects one path on disk for the journal. Follows no links and opens only regular files.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use super::blobs::Blobs;
use super::record::PathState;
use base::file::{self, FileError};
use base::folder::exact;
use base::folder::handle::Folder;
use base::format::encoding;
use base::system::os;

/// Larger files are compared by size and time only.
pub const FILE_LIMIT_BYTES: u64 = 32 * 1024 * 1024;
const DIFF_LIMIT_BYTES: usize = 1024 * 1024;

/// The state of an entry of the folder; with a regular file's bytes, if at most `limit`.
pub fn look(folder: &Folder, name: &OsStr, limit: u64) -> io::Result<(PathState, Option<Vec<u8>>)> {
    let meta = match folder.look(name) {
        Ok(meta) => meta,
        Err(error) if is_nothing(&error) => return Ok((PathState::Absent, None)),
        Err(error) => return Err(error),
    };
    let kind = meta.file_type();
    if kind.is_symlink() {
        return match folder.read_link(name) {
            Ok(to) => Ok((PathState::Link { to }, None)),
            Err(error) if is_nothing(&error) => Ok((PathState::Absent, None)),
            // It was replaced by something else after it was inspected.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok((PathState::Special, None)),
            Err(error) => Err(error),
        };
    }
    if kind.is_dir() {
        return Ok((PathState::FolderWith { mode: os::facts(&meta).mode }, None));
    }
    if !kind.is_file() {
        return Ok((PathState::Special, None));
    }
    let read =
        folder.open_file(name).and_then(|(file, meta)| Ok((file::read_all(file, &meta, limit)?, meta)));
    match read {
        Ok((bytes, meta)) => {
            let state = PathState::File {
                hash: file::hash(&bytes),
                size: bytes.len() as u64,
                mode: os::facts(&meta).mode,
            };
            Ok((state, Some(bytes)))
        }
        Err(FileError::TooLarge { .. }) => Ok((unkept(&meta), None)),
        Err(FileError::NotFound) => Ok((PathState::Absent, None)),
        // It can't be read, so its bytes can't be kept either.
        Err(_) => Ok((unkept(&meta), None)),
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || os::is_link_error(error)
}

/// The topmost symbolic link among the folders above `relative`.
pub fn behind_link(root: &Path, relative: &Path) -> Option<PathBuf> {
    let folders = relative.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let links = folders.filter(|folder| root.join(folder).is_symlink());
    links.last().map(Path::to_path_buf)
}

/// Like [`look`] for a path in the workspace; follows no links.
pub fn look_in(root: &Path, relative: &Path, limit: u64) -> io::Result<(PathState, Option<Vec<u8>>)> {
    let full = root.join(relative);
    let (Some(above), Some(name)) = (full.parent(), full.file_name()) else {
        return Ok((PathState::Folder, None));
    };
    match Folder::open(above) {
        Ok(folder) => look(&folder, name, limit),
        Err(error) if is_nothing(&error) => Ok((PathState::Absent, None)),
        Err(error) => Err(error),
    }
}

/// A regular file without its contents; anything else counts as absent.
pub fn stamp(root: &Path, relative: &Path) -> PathState {
    match exact::look(&root.join(relative)) {
        Ok(meta) if meta.is_file() => unkept(&meta),
        _ => PathState::Absent,
    }
}

fn unkept(meta: &Metadata) -> PathState {
    PathState::Unkept { size: meta.len(), mtime_ns: os::facts(meta).modified_ns }
}

pub fn keep(
    root: &Path,
    relative: &Path,
    blobs: &Blobs,
    limit: u64,
) -> io::Result<(PathState, Option<Vec<u8>>)> {
    let (state, bytes) = look_in(root, relative, limit)?;
    if let Some(bytes) = &bytes {
        blobs.put(bytes)?;
    }
    Ok((state, bytes))
}

/// Lines added and removed; zeros if binary or too large to compare.
pub fn counts(before: Option<&[u8]>, after: Option<&[u8]>) -> (u32, u32) {
    let text = |bytes: Option<&[u8]>| match bytes {
        None => Some(String::new()),
        Some(bytes) if bytes.len() > DIFF_LIMIT_BYTES => None,
        Some(bytes) => encoding::decode(bytes).ok().map(|(text, _)| text),
    };
    let (Some(before), Some(after)) = (text(before), text(after)) else { return (0, 0) };
    let diff = TextDiff::configure().timeout(Duration::from_millis(100)).diff_lines(&before, &after);
    diff.iter_all_changes().fold((0, 0), |(plus, minus), change| match change.tag() {
        ChangeTag::Insert => (plus + 1, minus),
        ChangeTag::Delete => (plus, minus + 1),
        ChangeTag::Equal => (plus, minus),
    })
}
