//! Writing a file so that a reader sees the old or the new content and never a mixture, while the file stays what
//! it was: same mode, owner, links and attributes.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};

use super::file::{self, FileError};
use super::path;

/// What must be on disk right before the new content takes its place.
#[derive(Clone, Copy, Debug)]
pub enum Expect<'a> {
    /// Nothing: a file that another program made is never overwritten.
    Missing,
    /// Exactly these bytes: a change by another program is never lost.
    Bytes(&'a [u8]),
    /// Whatever; for files that belong to the program itself.
    Anything,
}

/// Replaces or creates `path` (links are followed; the folder must exist).
///
/// A file with several hard links, foreign ownership, attributes of its own, or in a folder that cannot be written
/// is rewritten in place, and put back when that fails half way; every other file is replaced by a rename.
///
/// # Errors
/// [`FileError`]. The file is then as it was and no temporary file is left.
pub fn write(path: &Path, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
    write_as(path, bytes, expect, 0o666)
}

/// The same for a file of the program's state: only the user can read it, and its folder, which is made when needed.
///
/// # Errors
/// As [`write()`].
pub fn write_private(path: &Path, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
    if let Some(folder) = path.parent() {
        file::create_private_folder(folder)?;
    }
    write_as(path, bytes, expect, 0o600)
}

/// `most` bounds the mode of the file, whatever it was.
fn write_as(path: &Path, bytes: &[u8], expect: Expect, most: u32) -> Result<(), FileError> {
    let target = path::follow(path);
    let old = match fs::symlink_metadata(&target) {
        Ok(meta) => Some(meta),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    match (&old, expect) {
        (Some(_), Expect::Missing) => return Err(FileError::Exists),
        (None, Expect::Bytes(_)) => return Err(FileError::NotFound),
        _ => {}
    }
    if let Some(meta) = &old {
        may_be_written(&target, meta)?;
        if meta.nlink() > 1 || has_attributes(&target) {
            return in_place(&target, bytes, expect);
        }
    }
    match replace(&target, bytes, old.as_ref(), expect, most) {
        Err(Refused::Folder(_)) if old.is_some() => in_place(&target, bytes, expect),
        Err(Refused::Folder(error) | Refused::Other(error)) => Err(error),
        Ok(()) => Ok(()),
    }
}

/// A rename would happily replace a file that says "do not write"; we do not.
fn may_be_written(target: &Path, meta: &Metadata) -> Result<(), FileError> {
    if meta.is_dir() {
        return Err(FileError::IsDirectory);
    }
    if let Some(kind) = file::special_kind(meta) {
        return Err(FileError::Special(kind));
    }
    if meta.mode() & 0o222 == 0 {
        return Err(FileError::Denied(format!("is read-only (mode {:o})", meta.mode() & 0o7777)));
    }
    match rustix::fs::access(target, rustix::fs::Access::WRITE_OK) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::ROFS) => Err(FileError::Denied("is on a read-only file system".to_owned())),
        Err(rustix::io::Errno::PERM) => {
            Err(FileError::Denied("is protected against changes (immutable)".to_owned()))
        }
        Err(_) => Err(FileError::Denied(format!("is read-only for you (mode {:o})", meta.mode() & 0o7777))),
    }
}

/// Access lists, capabilities and user attributes would be lost by a rename. Labels that the system gives to every
/// file would not.
fn has_attributes(target: &Path) -> bool {
    let mut names = [0_u8; 1024];
    let count = match rustix::fs::listxattr(target, &mut names) {
        Ok(count) => count,
        Err(error) => return error == rustix::io::Errno::RANGE,
    };
    names[..count].split(|&b| b == 0).any(|name| {
        name.starts_with(b"user.") || name == b"system.posix_acl_access" || name == b"security.capability"
    })
}

enum Refused {
    /// The folder does not take a new file, or not one like the old.
    Folder(FileError),
    Other(FileError),
}

fn replace(
    target: &Path,
    bytes: &[u8],
    old: Option<&Metadata>,
    expect: Expect,
    most: u32,
) -> Result<(), Refused> {
    let (temp, mut out) = create_temp(target, old.map_or(most, |_| 0o600)).map_err(Refused::Folder)?;
    let done = (|| {
        if let Some(meta) = old {
            let made = out.metadata().map_err(other)?;
            if (made.uid(), made.gid()) != (meta.uid(), meta.gid()) {
                std::os::unix::fs::fchown(&out, Some(meta.uid()), Some(meta.gid()))
                    .map_err(|error| Refused::Folder(error.into()))?;
            }
            // After the owner: changing it clears set-id bits.
            let kept = if most == 0o600 { meta.mode() & most } else { meta.mode() & 0o7777 };
            out.set_permissions(Permissions::from_mode(kept)).map_err(other)?;
        }
        out.write_all(bytes).map_err(other)?;
        out.sync_all().map_err(other)?;
        match expect {
            Expect::Missing => return rename_to_new(&temp, target).map_err(Refused::Other),
            Expect::Bytes(known) => {
                let now = file::open(target).map_err(Refused::Other)?.0;
                if !same(now, known).map_err(other)? {
                    return Err(Refused::Other(FileError::Changed));
                }
            }
            Expect::Anything => {}
        }
        fs::rename(&temp, target).map_err(|error| Refused::Folder(error.into()))
    })();
    if done.is_err() {
        let _ = fs::remove_file(&temp);
    } else if let Some(folder) = target.parent()
        && let Ok(handle) = File::open(folder)
    {
        // Makes the rename itself durable; not every file system can.
        let _ = handle.sync_all();
    }
    done
}

fn other(error: io::Error) -> Refused {
    Refused::Other(error.into())
}

/// A new empty file beside `target`.
fn create_temp(target: &Path, mode: u32) -> Result<(PathBuf, File), FileError> {
    let folder = target.parent().unwrap_or(Path::new("/"));
    let mut tries = 0;
    loop {
        let temp = folder.join(format!(".mycode-{:016x}.tmp", fastrand::u64(..)));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&temp) {
            Ok(out) => return Ok((temp, out)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 8 => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Renames without ever replacing a file that appeared meanwhile.
///
/// # Errors
/// [`FileError::Exists`] when `target` is there already; else what the system says.
pub fn rename_to_new(temp: &Path, target: &Path) -> Result<(), FileError> {
    match rustix::fs::renameat_with(CWD, temp, CWD, target, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        Err(rustix::io::Errno::EXIST) => Err(FileError::Exists),
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::NOTSUP) => {
            match fs::hard_link(temp, target) {
                Ok(()) => {
                    let _ = fs::remove_file(temp);
                    Ok(())
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(FileError::Exists),
                // No links on this file system either: the last look is the best there is.
                Err(_) if target.symlink_metadata().is_ok() => Err(FileError::Exists),
                Err(_) => Ok(fs::rename(temp, target)?),
            }
        }
        Err(error) => Err(io::Error::from(error).into()),
    }
}

fn same(mut file: File, known: &[u8]) -> io::Result<bool> {
    if file.metadata()?.len() != known.len() as u64 {
        return Ok(false);
    }
    let mut now = Vec::with_capacity(known.len() + 1);
    (&mut file).take(known.len() as u64 + 1).read_to_end(&mut now)?;
    Ok(now == known)
}

fn in_place(target: &Path, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let mut file =
        OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(target)?;
    let mut old = Vec::new();
    file.read_to_end(&mut old)?;
    if matches!(expect, Expect::Bytes(known) if known != old) {
        return Err(FileError::Changed);
    }
    if let Err(error) = overwrite(&mut file, bytes) {
        // The old bytes had room before, so putting them back needs none.
        let restored = overwrite(&mut file, &old);
        return Err(match (FileError::from(error), restored) {
            (error, Ok(())) => error,
            (error, Err(again)) => FileError::Unable(format!(
                "writing failed half way ({error}) and could not be undone ({again})"
            )),
        });
    }
    Ok(())
}

fn overwrite(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn mode_links_and_identity_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("run.sh");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o751)).unwrap();
        symlink("run.sh", dir.path().join("link")).unwrap();
        write(&dir.path().join("link"), b"new", Expect::Bytes(b"old")).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, 0o751);
        assert!(dir.path().join("link").symlink_metadata().unwrap().is_symlink());

        fs::hard_link(&file, dir.path().join("twin")).unwrap();
        write(&file, b"n", Expect::Anything).unwrap();
        assert_eq!(fs::read(dir.path().join("twin")).unwrap(), b"n");
        assert_eq!(file.metadata().unwrap().nlink(), 2);
        assert_eq!(names(dir.path()), ["link", "run.sh", "twin"]);
    }

    #[test]
    fn expectations_are_checked() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        write(&file, b"1", Expect::Missing).unwrap();
        assert!(matches!(write(&file, b"2", Expect::Missing), Err(FileError::Exists)));
        assert!(matches!(write(&file, b"2", Expect::Bytes(b"0")), Err(FileError::Changed)));
        fs::hard_link(&file, dir.path().join("g")).unwrap();
        assert!(matches!(write(&file, b"2", Expect::Bytes(b"0")), Err(FileError::Changed)));
        assert_eq!(fs::read(&file).unwrap(), b"1");
        assert_eq!(names(dir.path()), ["f", "g"]);
        assert!(matches!(write(&dir.path().join("no/f"), b"", Expect::Missing), Err(FileError::NotFound)));
    }

    #[test]
    fn read_only_files_stay() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o444)).unwrap();
        let error = write(&file, b"y", Expect::Anything).unwrap_err();
        assert_eq!(error.to_string(), "is read-only (mode 444)");
        assert!(write(dir.path(), b"y", Expect::Anything).is_err());
    }
}
