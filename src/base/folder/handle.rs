//! An open folder: everything in it is accessed by name without following links, so a changed path can't
//! redirect the work. Opened for each call, so that a recreated workspace is found.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::no_links::{self, FOLDER, LOOK};
use crate::file::{self, FileError};

#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// Absolute path; no part of it may be a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        no_links::open(path, FOLDER).map(Self)
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
        Ok(rustix::fs::openat(&self.0, one(name)?, no_links::safe(flags), mode)?)
    }

    pub fn open_with(&self, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<File> {
        self.open_at(name, flags, mode).map(File::from)
    }

    /// Opens a regular file for reading. Checks the kind on the handle; opening never blocks.
    pub fn open_file(&self, name: &OsStr) -> Result<(File, Metadata), FileError> {
        // Opening some devices has side effects, so check before opening.
        file::check_kind(&self.look(name)?)?;
        let file = self.open_with(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0)?;
        let meta = file.metadata()?;
        file::check_kind(&meta)?;
        Ok((file, meta))
    }

    /// Doesn't follow links.
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

    /// Makes changes in it durable, if the file system can.
    pub fn sync(&self) {
        let _ = self.readable().and_then(|folder| File::from(folder).sync_all());
    }

    fn readable(&self) -> io::Result<OwnedFd> {
        let flags = no_links::safe(OFlags::RDONLY | OFlags::DIRECTORY);
        Ok(rustix::fs::openat(&self.0, ".", flags, Mode::empty())?)
    }

    /// Returns false if the folder already existed.
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

    /// Sets the permission bits of a folder in this one, also where they allow nothing.
    pub fn set_folder_mode(&self, name: &OsStr, mode: u32) -> io::Result<()> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW;
        if let Ok(folder) = self.open_with(name, flags | OFlags::RDONLY, 0) {
            return folder.set_permissions(Permissions::from_mode(mode));
        }
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::AsRawFd as _;
            let folder = self.open_with(name, flags | OFlags::PATH, 0)?;
            let behind = format!("/proc/self/fd/{}", folder.as_raw_fd());
            std::fs::set_permissions(behind, Permissions::from_mode(mode))
        }
        #[cfg(not(target_os = "linux"))]
        Err(io::ErrorKind::PermissionDenied.into())
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

    /// Renames to any folder, never replacing a file that appeared meanwhile ([`FileError::Exists`]).
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
                    // This file system can't do that either, so this last check is the best possible.
                    Err(_) if other.look(to).is_ok() => Err(FileError::Exists),
                    Err(_) => Ok(rustix::fs::renameat(&self.0, from, &other.0, to).map_err(io::Error::from)?),
                }
            }
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    pub fn may_write(&self, name: &OsStr) -> rustix::io::Result<()> {
        rustix::fs::accessat(&self.0, name, rustix::fs::Access::WRITE_OK, AtFlags::empty())
    }
}

/// Rejects paths: a name with a `/` could lead through a link.
fn one(name: &OsStr) -> io::Result<&OsStr> {
    let single = !name.as_bytes().contains(&b'/') && name != "..";
    if single { Ok(name) } else { Err(Errno::INVAL.into()) }
}
