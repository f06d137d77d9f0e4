//! Writes files atomically, keeping their mode, owner, links and attributes.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::handle::Folder;
use crate::file::{self, FileError};
use crate::path;
use crate::system::os;

const TEMP_PREFIX: &str = ".mycode-write-";
const TEMP_SUFFIX: &str = ".tmp";

/// What must be on disk right before the new content replaces it.
#[derive(Clone, Copy, Debug)]
pub enum Expect<'a> {
    /// Nothing, so that a file created by another program is never overwritten.
    Missing,
    /// Exactly these bytes, so that another program's change is never lost.
    Bytes(&'a [u8]),
    /// For files that only this program writes.
    Anything,
}

/// Replaces or creates `path` (links are followed; the folder must exist). A relative path starts in the current folder.
///
/// A file with hard links, foreign ownership or attributes, or in a read-only folder, is rewritten in place and restored
/// if that fails halfway; any other file is replaced by a rename.
pub fn write(path: &Path, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
    let path = path::follow(path);
    let (folder, name) = Folder::of(&path)?;
    write_in(&folder, name, bytes, expect)
}

/// Like [`write()`], but no part of the path may be a link; creates missing folders.
pub fn write_exactly(path: &Path, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FileError::IsDirectory);
    };
    write_in(&Folder::make(above)?.0, name, bytes, expect)
}

/// Like [`write()`] for a name in an open folder, without following links.
pub fn write_in(folder: &Folder, name: &OsStr, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
    write_as(folder, name, bytes, expect, Manner { most: 0o666, apart: false })
}

/// Like [`write_in()`], but other names of the file keep its old content, and the caller syncs.
pub fn write_apart(folder: &Folder, name: &OsStr, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
    write_as(folder, name, bytes, expect, Manner { most: 0o666, apart: true })
}

/// Like [`write()`] for a state file: the file and its folder, which is created if needed, are private to the user.
pub fn write_private(path: &Path, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
    let path = path::follow(path);
    if let Some(folder) = path.parent() {
        file::create_private_folder(folder)?;
    }
    let (folder, name) = Folder::of(&path)?;
    write_as(&folder, name, bytes, expect, Manner { most: 0o600, apart: false })
}

#[derive(Clone, Copy)]
struct Manner {
    /// Permission bits of a new file.
    most: u32,
    /// Other names of the file keep its old content, and the caller syncs.
    apart: bool,
}

fn write_as(
    folder: &Folder,
    name: &OsStr,
    bytes: &[u8],
    expect: Expect,
    manner: Manner,
) -> Result<(), FileError> {
    let old = match folder.look(name) {
        Ok(meta) => Some(meta),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    match (&old, expect) {
        (Some(_), Expect::Missing) => return Err(FileError::Exists),
        (None, Expect::Bytes(_)) => return Err(FileError::NotFound),
        _ => {}
    }
    let mut may_be_in_place = false;
    if let Some(meta) = &old {
        file::check_kind(meta)?;
        let facts = os::facts(meta);
        let has_others = facts.names > 1;
        may_be_in_place = !(has_others && manner.apart);
        // A new file only takes over the name; the old one isn't changed.
        if may_be_in_place {
            folder.may_write(name, facts.mode)?;
        }
        if may_be_in_place && (has_others || os::has_attributes(&folder.open_file(name)?.0)) {
            return in_place(folder, name, bytes, expect);
        }
    }
    match replace(folder, name, bytes, old.as_ref(), expect, manner) {
        Err(Refused::Folder(_)) if may_be_in_place => in_place(folder, name, bytes, expect),
        Err(Refused::Folder(error) | Refused::Other(error)) => Err(error),
        Ok(()) => Ok(()),
    }
}

enum Refused {
    Folder(FileError),
    Other(FileError),
}

fn replace(
    folder: &Folder,
    name: &OsStr,
    bytes: &[u8],
    old: Option<&Metadata>,
    expect: Expect,
    Manner { most, apart }: Manner,
) -> Result<(), Refused> {
    let (temp, mut out) = create_temp(folder, old.map_or(most, |_| 0o600)).map_err(Refused::Folder)?;
    let done = (|| {
        if let Some(meta) = old {
            let facts = os::facts(meta);
            let kept = if most == 0o600 { facts.mode & most } else { facts.mode };
            let given = os::hand_over(&out, facts.owner, kept);
            given.map_err(|error| Refused::Folder(error.into()))?;
        }
        out.write_all(bytes).map_err(other)?;
        if !apart {
            sync(&out).map_err(other)?;
        }
        match expect {
            Expect::Missing => return folder.rename_new(&temp, folder, name).map_err(Refused::Other),
            Expect::Bytes(known) => {
                let now = folder.open_file(name).map_err(Refused::Other)?.0;
                if !same(now, known).map_err(other)? {
                    return Err(Refused::Other(FileError::Changed));
                }
            }
            Expect::Anything => {}
        }
        folder.rename(&temp, name).map_err(|error| Refused::Folder(error.into()))
    })();
    if done.is_err() {
        let _ = folder.remove_file(&temp);
    } else if !apart {
        folder.sync();
    }
    done
}

fn other(error: io::Error) -> Refused {
    Refused::Other(error.into())
}

/// A new empty file, locked while open, so that a running write can be told from a killed one.
fn create_temp(folder: &Folder, mode: u32) -> Result<(OsString, File), FileError> {
    remove_abandoned(folder);
    let mut tries = 0;
    loop {
        let temp = OsString::from(format!("{TEMP_PREFIX}{:016x}{TEMP_SUFFIX}", fastrand::u64(..)));
        match folder.create_new(&temp, mode) {
            // Another process may have considered it abandoned before it was locked.
            Ok(out) if is_free(&out)? => return Ok((temp, out)),
            Ok(_) if tries < 8 => tries += 1,
            Ok(_) => return Err(FileError::Changed),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 8 => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

/// Locks the file; returns whether no other process holds the lock and the file still has a name.
fn is_free(file: &File) -> io::Result<bool> {
    // Without locks on the file system, other processes can't consider it abandoned either.
    let held = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
    Ok(!held && os::facts(&file.metadata()?).names == 1)
}

fn remove_abandoned(folder: &Folder) {
    let is_temp = |name: &&OsString| {
        let id = name.to_str().and_then(|name| name.strip_prefix(TEMP_PREFIX)?.strip_suffix(TEMP_SUFFIX));
        id.is_some_and(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    for name in folder.names().iter().flatten().filter(is_temp) {
        if let Ok((file, meta)) = folder.open_file(name)
            && file.try_lock().is_ok()
            && folder.look(name).is_ok_and(|now| os::facts(&now).id == os::facts(&meta).id)
        {
            let _ = folder.remove_file(name);
        }
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

fn in_place(folder: &Folder, name: &OsStr, bytes: &[u8], expect: Expect) -> Result<(), FileError> {
    let mut file = folder.open_to_change(name)?;
    file::check_kind(&file.metadata()?)?;
    let mut old = Vec::new();
    file.read_to_end(&mut old)?;
    if matches!(expect, Expect::Bytes(known) if known != old) {
        return Err(FileError::Changed);
    }
    if let Err(error) = overwrite(&mut file, bytes) {
        // Restoring the old bytes needs no additional space.
        let restored = overwrite(&mut file, &old);
        return Err(match (FileError::from(error), restored) {
            (error, Ok(())) => error,
            (error, Err(again)) => FileError::Unable(format!(
                "writing failed halfway ({error}) and could not be undone ({again})"
            )),
        });
    }
    Ok(())
}

fn overwrite(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    sync(file)
}

/// Some network file systems can't sync.
fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        done => done,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    #[test]
    fn a_file_that_can_not_be_synced_is_written() {
        let (_reader, writer) = io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(writer));
        assert_eq!(pipe.sync_all().unwrap_err().kind(), io::ErrorKind::InvalidInput);
        sync(&pipe).unwrap();
    }

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
    fn only_abandoned_files_of_our_own_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let name = |id: &str| dir.path().join(format!("{TEMP_PREFIX}{id}{TEMP_SUFFIX}"));
        let (abandoned, held) = (name("0123456789abcdef"), name("00000000000000aa"));
        // Other programs' names, and kinds that we never create.
        let others =
            [name("0123"), name("0123456789abcdeg"), dir.path().join(".mycode-0123456789abcdef.tmp")];
        let (link, subfolder) = (name("00000000000000bb"), name("00000000000000cc"));
        for file in others.iter().chain([&abandoned, &held]) {
            fs::write(file, "x").unwrap();
        }
        symlink(&others[0], &link).unwrap();
        fs::create_dir(&subfolder).unwrap();
        let writer = File::open(&held).unwrap();
        assert!(is_free(&writer).unwrap());
        write(&dir.path().join("f"), b"", Expect::Missing).unwrap();
        assert!(!abandoned.exists());
        assert!(others.iter().chain([&held, &subfolder]).all(|path| path.exists()) && link.is_symlink());
        drop(writer);
        write(&dir.path().join("f"), b"y", Expect::Anything).unwrap();
        assert!(!held.exists());
    }

    #[test]
    fn a_bare_name_lies_in_the_current_folder() {
        // Other tests run in this process, so don't change the current folder, which is the crate's.
        let name = format!("atomic-write-{}.tmp", std::process::id());
        for write in [write, write_private] {
            write(Path::new(&name), b"1", Expect::Missing).unwrap();
            assert_eq!(fs::read(std::env::current_dir().unwrap().join(&name)).unwrap(), b"1");
            fs::remove_file(&name).unwrap();
        }
        assert_eq!(path::follow(Path::new("a.svg")), std::env::current_dir().unwrap().join("a.svg"));
        assert!(write_exactly(Path::new("a.svg"), b"", Expect::Missing).is_err());
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
