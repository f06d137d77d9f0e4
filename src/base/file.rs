//! Safe file reading: never blocks on a FIFO, never reads a device, never fills memory with a huge file.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::text;
use crate::system::os;

const LOCK_PAUSE: Duration = Duration::from_millis(10);

#[derive(Debug, Error)]
pub enum FileError {
    #[error("does not exist")]
    NotFound,
    #[error("is a folder")]
    IsDirectory,
    #[error("is a {0}, not a file")]
    Special(&'static str),
    /// Refused by the file system.
    #[error("{0}")]
    Denied(String),
    /// Impossible for any user.
    #[error("{0}")]
    Unable(String),
    #[error("has {}, more than the limit of {}", text::human_bytes(*size), text::human_bytes(*limit))]
    TooLarge { size: u64, limit: u64 },
    #[error("was just changed by another program")]
    Changed,
    #[error("was just created by another program")]
    Exists,
    /// A resolved path now contains a link, or couldn't be resolved.
    #[error("is behind symbolic links that form a loop or just changed")]
    Links,
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::NotFound => Self::NotFound,
            Kind::IsADirectory => Self::IsDirectory,
            Kind::PermissionDenied => Self::Denied("permission denied by the file system".to_owned()),
            Kind::ReadOnlyFilesystem => Self::Denied("the file system is read-only".to_owned()),
            Kind::NotADirectory => Self::Unable("a part of the path is a file, not a folder".to_owned()),
            Kind::StorageFull => Self::Unable("the disk is full".to_owned()),
            Kind::QuotaExceeded => Self::Unable("the disk quota is used up".to_owned()),
            Kind::InvalidFilename => Self::Unable("the name is too long for the file system".to_owned()),
            Kind::InvalidInput if error.raw_os_error().is_none() => {
                Self::Unable("the path contains a NUL character".to_owned())
            }
            _ if os::is_link_error(&error) => Self::Links,
            _ => Self::Io(error),
        }
    }
}

/// Checks the kind on the open handle, so that nothing can be swapped in between. Never blocks on a FIFO.
pub fn open(path: &Path) -> Result<(File, Metadata), FileError> {
    // Opening some devices has side effects, so check first.
    check_kind(&std::fs::metadata(path)?)?;
    let file = os::without_waiting(OpenOptions::new().read(true), true).open(path)?;
    let meta = file.metadata()?;
    check_kind(&meta)?;
    Ok((file, meta))
}

pub fn check_kind(meta: &Metadata) -> Result<(), FileError> {
    if meta.is_dir() {
        return Err(FileError::IsDirectory);
    }
    if meta.is_symlink() {
        return Err(FileError::Links);
    }
    os::special_kind(meta).map_or(Ok(()), |kind| Err(FileError::Special(kind)))
}

/// Reads a regular file of at most `limit` bytes, even if it grows in the meantime.
pub fn read(path: &Path, limit: u64) -> Result<(Vec<u8>, Metadata), FileError> {
    let (file, meta) = open(path)?;
    Ok((read_all(file, &meta, limit)?, meta))
}

pub fn read_all(file: File, meta: &Metadata, limit: u64) -> Result<Vec<u8>, FileError> {
    if meta.len() > limit {
        return Err(FileError::TooLarge { size: meta.len(), limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(FileError::TooLarge { size: bytes.len() as u64, limit });
    }
    Ok(bytes)
}

/// The text of a regular file; `None` if it isn't UTF-8, is longer than `limit` bytes or can't be read.
pub fn small_text(path: &Path, limit: u64) -> Option<String> {
    String::from_utf8(read(path, limit).ok()?.0).ok()
}

pub fn read_own(path: &Path) -> Result<Vec<u8>, FileError> {
    let mut bytes = Vec::new();
    open(path)?.0.read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub fn tail(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (mut file, meta) = open(path).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(meta.len().saturating_sub(most)))?;
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

pub fn tail_from(path: &Path, start: u64) -> io::Result<Vec<u8>> {
    let (mut file, _) = open(path).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Succeeds if the file is missing.
pub fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    os::private_folders().recursive(true).create(folder)
}

/// Opens a file of the program's state; a new file is private to the user.
pub fn open_private(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    os::private(options).open(path)
}

/// Like [`open_private`]; fails if the path exists.
pub fn create_private(path: &Path) -> io::Result<File> {
    open_private(OpenOptions::new().write(true).create_new(true), path)
}

/// Locks the file until it is closed; `false` if another process has the lock all that time. Some file systems have no locks.
pub fn lock_within(limit: Duration, file: &File) -> io::Result<bool> {
    let end = Instant::now() + limit;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() > end => return Ok(false),
            Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
        }
    }
}

/// Revokes others' access to a state folder created by an earlier version. Ignores missing folders and other users' folders.
pub fn make_private(folder: &Path) {
    if let Ok(meta) = std::fs::metadata(folder)
        && meta.is_dir()
        && os::facts(&meta).mode & 0o077 != 0
    {
        let _ = os::set_mode(folder, os::facts(&meta).mode & 0o700);
    }
}

/// 128 bits of SHA-256 in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(bytes);
    digest.iter().take(16).fold(String::with_capacity(32), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

pub fn binary_kind(head: &[u8]) -> &'static str {
    const MAGIC: [(&[u8], &str); 16] = [
        (b"\x7fELF", "ELF program or library"),
        (b"\x89PNG", "PNG image"),
        (b"\xff\xd8\xff", "JPEG image"),
        (b"GIF8", "GIF image"),
        (b"%PDF", "PDF document"),
        (b"PK\x03\x04", "ZIP archive (or a format built on it)"),
        (b"\x1f\x8b", "gzip archive"),
        (b"\x28\xb5\x2f\xfd", "zstd archive"),
        (b"\xfd7zXZ", "xz archive"),
        (b"BZh", "bzip2 archive"),
        (b"SQLite format 3", "SQLite database"),
        (b"\0asm", "WebAssembly module"),
        (b"\xca\xfe\xba\xbe", "Java class or Mach-O file"),
        (b"RIFF", "RIFF media file"),
        (b"OggS", "Ogg media file"),
        (b"wOF", "web font"),
    ];
    MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map_or("binary data", |(_, name)| name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn special_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(open(dir.path()), Err(FileError::IsDirectory)));
        assert!(matches!(open(Path::new("/dev/zero")), Err(FileError::Special("character device"))));
        assert!(matches!(open(&dir.path().join("none")), Err(FileError::NotFound)));
        let file = dir.path().join("f");
        std::fs::write(&file, "12345").unwrap();
        assert_eq!(read(&file, 5).unwrap().0, b"12345");
        assert!(matches!(read(&file, 4), Err(FileError::TooLarge { size: 5, limit: 4 })));
        assert!(matches!(open(&file.join("x")), Err(FileError::Unable(_))));
    }

    #[test]
    fn hash_is_stable() {
        assert_eq!(hash(b""), "e3b0c44298fc1c149afbf4c8996fb924");
        assert_ne!(hash(b"a"), hash(b"b"));
    }
}
