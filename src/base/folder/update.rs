//! Lossless changes to a state file that several processes change.

use std::fs::File;
use std::io;
use std::path::Path;

use super::atomic_write::{self, Expect};
use crate::file::{self, FileError};

/// Needed because the lock stops only our own processes, and some file systems have no locks.
const ATTEMPTS: usize = 8;

/// Locks the folder. Calls `change` again if another program changed the file; `None` leaves the file unchanged.
pub fn update(
    path: &Path,
    mut change: impl FnMut(Option<&[u8]>) -> io::Result<Option<Vec<u8>>>,
) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    file::create_private_folder(folder)?;
    let lock = File::open(folder)?;
    let _ = lock.lock();
    for _ in 0..ATTEMPTS {
        let old = match file::read_own(path) {
            Ok(bytes) => Some(bytes),
            Err(FileError::NotFound) => None,
            Err(error) => return Err(io::Error::other(error)),
        };
        let Some(new) = change(old.as_deref())? else { return Ok(()) };
        let expect = old.as_deref().map_or(Expect::Missing, Expect::Bytes);
        match atomic_write::write_private(path, &new, expect) {
            Err(FileError::Changed | FileError::Exists | FileError::NotFound) => {}
            written => return written.map_err(io::Error::other),
        }
    }
    Err(io::Error::other("other programs keep changing it"))
}
