//! An open folder: everything in it is accessed by name without following links, so a changed path can't redirect the work.
//! Opened for each call, so that a recreated workspace is found. Anyone who may change a folder can replace it with a link at
//! any time; a resolved path opened here leads to the checked place, or fails.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, RenameFlags, openat, statat};
use rustix::io::Errno;

use crate::file::{self, FileError};

#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// `path` is absolute, and no part of it may be a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        open_path(path, FOLDER).map(Self)
    }

    pub fn of(path: &Path) -> Result<(Self, &OsStr), FileError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::IsDirectory);
        };
        Ok((Self::open(folder)?, name))
    }

    /// Opens the folder, creating missing ones; also returns the created paths, outermost first.
    pub fn make(path: &Path) -> io::Result<(Self, Vec<PathBuf>)> {
        let (above, name) = match (Self::open(path), path.parent(), path.file_name()) {
            (Err(error), Some(above), Some(name)) if error.kind() == io::ErrorKind::NotFound => (above, name),
            (opened, ..) => return Ok((opened?, Vec::new())),
        };
        let (parent, mut made) = Self::make(above)?;
        let child = parent.make_folder(name).and_then(|new| {
            made.extend(new.then(|| path.to_owned()));
            parent.open_at(name, FOLDER, 0)
        });
        match child {
            Ok(child) => Ok((Self(child), made)),
            Err(error) => {
                Self::unmake(&made);
                Err(error)
            }
        }
    }

    /// Removes the folders that [`Folder::make`] created, if they are empty.
    pub fn unmake(made: &[PathBuf]) {
        for path in made.iter().rev() {
            let _ = Self::of(path).map(|(above, name)| above.remove_folder(name));
        }
    }

    fn open_at(&self, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        let mode = Mode::from_bits_retain(mode as _);
        Ok(rustix::fs::openat(&self.0, one(name)?, safe(flags), mode)?)
    }

    fn open_with(&self, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<File> {
        self.open_at(name, flags, mode).map(File::from)
    }

    pub fn create_new(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        self.open_with(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode)
    }

    pub fn open_to_change(&self, name: &OsStr) -> io::Result<File> {
        self.open_with(name, OFlags::RDWR | OFlags::NONBLOCK, 0)
    }

    pub fn open_lock(&self, name: &OsStr) -> io::Result<File> {
        self.open_with(name, OFlags::WRONLY | OFlags::CREATE | OFlags::NONBLOCK, 0o666)
    }

    /// Opens a regular file for reading. Checks the kind on the handle; opening never blocks.
    pub fn open_file(&self, name: &OsStr) -> Result<(File, Metadata), FileError> {
        // Opening some devices has side effects, so check first.
        file::check_kind(&self.look(name)?)?;
        let file = self.open_with(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0)?;
        let meta = file.metadata()?;
        file::check_kind(&meta)?;
        Ok((file, meta))
    }

    pub fn look(&self, name: &OsStr) -> io::Result<Metadata> {
        self.open_with(name, LOOK, 0)?.metadata()
    }

    pub fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.0, one(name)?, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = Dir::new(self.readable()?)?.flatten();
        let names = entries.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
        Ok(names.filter(|name| name != "." && name != "..").collect())
    }

    pub fn sync(&self) {
        let _ = self.readable().and_then(|folder| File::from(folder).sync_all());
    }

    fn readable(&self) -> io::Result<OwnedFd> {
        let flags = safe(OFlags::RDONLY | OFlags::DIRECTORY);
        Ok(rustix::fs::openat(&self.0, ".", flags, Mode::empty())?)
    }

    /// Returns `false` if the folder already existed.
    pub fn make_folder(&self, name: &OsStr) -> io::Result<bool> {
        match rustix::fs::mkdirat(&self.0, one(name)?, Mode::from_bits_retain(0o777)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) if self.look(name)?.is_dir() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    pub fn make_link(&self, name: &OsStr, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(to, &self.0, one(name)?)?)
    }

    /// Sets the permission bits of a file or folder in this one, even if it has none.
    pub fn set_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        match self.open_with(name, OFlags::RDONLY | OFlags::NONBLOCK, 0) {
            Ok(open) => open.set_permissions(Permissions::from_mode(mode)),
            #[cfg(target_os = "linux")]
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                use std::os::fd::AsRawFd as _;
                let open = self.open_with(name, OFlags::PATH, 0)?;
                let behind = format!("/proc/self/fd/{}", open.as_raw_fd());
                std::fs::set_permissions(behind, Permissions::from_mode(mode))
            }
            Err(error) => Err(error),
        }
    }

    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, one(name)?, AtFlags::empty())?)
    }

    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, one(name)?, AtFlags::REMOVEDIR)?)
    }

    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, one(from)?, &self.0, one(to)?)?)
    }

    /// Renames to any folder; never replaces a file that appeared in the meantime ([`FileError::Exists`]).
    pub fn rename_new(&self, from: &OsStr, other: &Self, to: &OsStr) -> Result<(), FileError> {
        let (from, to) = (one(from)?, one(to)?);
        match rustix::fs::renameat_with(&self.0, from, &other.0, to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(()),
            Err(Errno::EXIST) => Err(FileError::Exists),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                match rustix::fs::linkat(&self.0, from, &other.0, to, AtFlags::empty()) {
                    Ok(()) => {
                        let _ = self.remove_file(from);
                        Ok(())
                    }
                    Err(Errno::EXIST) => Err(FileError::Exists),
                    // This file system doesn't support it, so a last check is the best possible.
                    Err(_) if other.look(to).is_ok() => Err(FileError::Exists),
                    Err(_) => Ok(rustix::fs::renameat(&self.0, from, &other.0, to).map_err(io::Error::from)?),
                }
            }
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Checks that a file of this mode may be changed, because a rename would replace even a read-only file.
    pub fn may_write(&self, name: &OsStr, mode: u32) -> Result<(), FileError> {
        let why = match rustix::fs::accessat(&self.0, name, rustix::fs::Access::WRITE_OK, AtFlags::empty()) {
            _ if mode & 0o222 == 0 => format!("is read-only (mode {mode:o})"),
            Ok(()) => return Ok(()),
            Err(Errno::ROFS) => "the file system is read-only".to_owned(),
            Err(Errno::PERM) => "is protected against changes (immutable)".to_owned(),
            Err(_) => format!("isn't writable for you (mode {mode:o})"),
        };
        Err(FileError::Denied(why))
    }
}

/// Rejects paths, because a name with a `/` could lead through a link.
fn one(name: &OsStr) -> io::Result<&OsStr> {
    let single = !name.as_bytes().contains(&b'/') && name != "..";
    if single { Ok(name) } else { Err(Errno::INVAL.into()) }
}

/// For metadata only; doesn't follow links. On Linux it needs no read permission and doesn't affect devices.
#[cfg(target_os = "linux")]
const LOOK: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW);
#[cfg(not(target_os = "linux"))]
const LOOK: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::SYMLINK);

#[cfg(target_os = "linux")]
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
#[cfg(not(target_os = "linux"))]
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

/// Flags that never follow a link and keep the handle from child processes.
fn safe(flags: OFlags) -> OFlags {
    let at_link = if flags == LOOK { OFlags::empty() } else { OFlags::NOFOLLOW };
    flags | at_link | OFlags::CLOEXEC
}

pub fn look(path: &Path) -> io::Result<Metadata> {
    File::from(open_path(path, LOOK)?).metadata()
}

pub fn open(path: &Path) -> io::Result<File> {
    open_path(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map(File::from)
}

/// `path` must be absolute, without `..`, and without links.
fn open_path(path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return Err(Errno::INVAL.into());
    }
    #[cfg(target_os = "linux")]
    match by_kernel(path, flags) {
        // Kernels before 5.6 lack this call, and some containers forbid it.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return Ok(opened?),
    }
    Ok(by_steps(path, flags)?)
}

#[cfg(target_os = "linux")]
fn by_kernel(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let how = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    // `NOFOLLOW` would report a link in place of a folder as "not a folder".
    openat2(CWD, path, flags | OFlags::CLOEXEC, Mode::empty(), how)
}

fn by_steps(path: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let mut names = path.components().skip(1).map(Component::as_os_str).peekable();
    let mut opened =
        openat(CWD, "/", safe(if names.peek().is_some() { FOLDER } else { flags }), Mode::empty())?;
    while let Some(name) = names.next() {
        let flags = if names.peek().is_some() { FOLDER } else { flags };
        opened = openat(&opened, name, safe(flags), Mode::empty()).map_err(|error| {
            // For a link in place of a folder, the system reports only "not a folder".
            let found = statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW);
            let link = found.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
            if error == Errno::NOTDIR && link { Errno::LOOP } else { error }
        })?;
    }
    Ok(opened)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn both_ways_open_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/f"), "x").unwrap();
        symlink("a", root.join("to_a")).unwrap();
        symlink("f", root.join("a/b/to_f")).unwrap();
        symlink("nowhere", root.join("dangling")).unwrap();
        let read = OFlags::RDONLY;
        for (name, flags, wanted) in [
            ("a/b/f", read, Ok(())),
            ("a/./b", FOLDER, Ok(())),
            ("a/b/to_f", LOOK, Ok(())),
            ("dangling", LOOK, Ok(())),
            ("to_a/b/f", LOOK, Err(Errno::LOOP)),
            ("to_a/b/f", read, Err(Errno::LOOP)),
            ("to_a", FOLDER, Err(Errno::LOOP)),
            ("a/b/to_f", read, Err(Errno::LOOP)),
            ("dangling", read, Err(Errno::LOOP)),
            ("a/none/f", read, Err(Errno::NOENT)),
            ("a/b/f/x", read, Err(Errno::NOTDIR)),
            ("a/b/f", FOLDER, Err(Errno::NOTDIR)),
        ] {
            let path = root.join(name);
            assert_eq!(by_kernel(&path, flags).map(drop), wanted, "{name}");
            assert_eq!(by_steps(&path, flags).map(drop), wanted, "{name}, by steps");
        }
        assert!(by_steps(Path::new("/"), FOLDER).is_ok());
        assert!(open_path(Path::new("a"), read).is_err(), "relative");
        assert!(open_path(&root.join("a/../a"), FOLDER).is_err(), "upwards");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_link_that_comes_and_goes_is_never_followed() {
        use rustix::fs::{RenameFlags, renameat_with};
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for (folder, text) in [("in/d", "inside"), ("out", "outside")] {
            fs::create_dir_all(root.join(folder)).unwrap();
            fs::write(root.join(folder).join("f"), text).unwrap();
        }
        let (folder, link) = (root.join("in/d"), root.join("in/l"));
        symlink(root.join("out"), &link).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
                }
            });
            let reads = (0..20_000).map(|n| match n % 2 {
                0 => by_steps(&folder.join("f"), OFlags::RDONLY),
                _ => by_kernel(&folder.join("f"), OFlags::RDONLY),
            });
            let texts: Vec<String> =
                reads.flatten().map(|file| std::io::read_to_string(fs::File::from(file)).unwrap()).collect();
            done.store(true, Ordering::Relaxed);
            assert!(!texts.is_empty() && texts.iter().all(|text| text == "inside"));
        });
    }
}
