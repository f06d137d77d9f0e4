//! A folder that is open: everything in it is done by name and follows no link, so nothing that happens to the path by which
//! it was opened can lead the work elsewhere. Opened anew for each call: a workspace that was removed and made again is the
//! one that stands there now.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::no_links::{self, FOLDER, LOOK};
use crate::file::{self, FileError};

/// An open folder.
#[derive(Debug)]
pub struct Folder(OwnedFd);

impl Folder {
    /// The folder at this absolute path, no part of which may be a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        no_links::open(path, FOLDER).map(Self)
    }

    /// The folder that holds `path`, and the name in it.
    pub fn of(path: &Path) -> Result<(Self, &OsStr), FileError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FileError::IsDirectory);
        };
        Ok((Self::open(folder)?, name))
    }

    /// The folder at this path, made where it is missing, as are those above; and the paths that were made, outermost first.
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

    /// Removes folders that [`Folder::make`] made, as far as they are empty.
    pub fn unmake(made: &[PathBuf]) {
        for path in made.iter().rev() {
            let _ = Self::of(path).map(|(above, name)| above.remove_folder(name));
        }
    }

    fn open_at(&self, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<OwnedFd> {
        let mode = Mode::from_bits_retain(mode as _);
        Ok(rustix::fs::openat(&self.0, one(name)?, no_links::safe(flags), mode)?)
    }

    /// Opens what has this name, or makes it with this mode, as the flags say.
    pub fn open_with(&self, name: &OsStr, flags: OFlags, mode: u32) -> io::Result<File> {
        self.open_at(name, flags, mode).map(File::from)
    }

    /// Opens a regular file for reading. The kind is checked on the handle; the open itself waits for nobody.
    pub fn open_file(&self, name: &OsStr) -> Result<(File, Metadata), FileError> {
        // Opening some devices has effects of its own, so look before opening.
        file::check_kind(&self.look(name)?)?;
        let file = self.open_with(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY, 0)?;
        let meta = file.metadata()?;
        file::check_kind(&meta)?;
        Ok((file, meta))
    }

    /// What has this name; a link is looked at itself.
    pub fn look(&self, name: &OsStr) -> io::Result<Metadata> {
        self.open_with(name, LOOK, 0)?.metadata()
    }

    /// Where the link with this name leads.
    pub fn read_link(&self, name: &OsStr) -> io::Result<PathBuf> {
        let target = rustix::fs::readlinkat(&self.0, one(name)?, Vec::new())?;
        Ok(OsString::from_vec(target.into_bytes()).into())
    }

    /// The names in it, in no order.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let entries = Dir::new(self.readable()?)?.flatten();
        let names = entries.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
        Ok(names.filter(|name| name != "." && name != "..").collect())
    }

    /// Makes what was done in it durable, where the file system can.
    pub fn sync(&self) {
        let _ = self.readable().and_then(|folder| File::from(folder).sync_all());
    }

    fn readable(&self) -> io::Result<OwnedFd> {
        let flags = no_links::safe(OFlags::RDONLY | OFlags::DIRECTORY);
        Ok(rustix::fs::openat(&self.0, ".", flags, Mode::empty())?)
    }

    /// Makes a folder; false when there was one already.
    pub fn make_folder(&self, name: &OsStr) -> io::Result<bool> {
        match rustix::fs::mkdirat(&self.0, one(name)?, Mode::from_bits_retain(0o777)) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) if self.look(name)?.is_dir() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes a link that leads to `to`.
    pub fn make_link(&self, name: &OsStr, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(to, &self.0, one(name)?)?)
    }

    /// Removes what is no folder.
    pub fn remove_file(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, one(name)?, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.0, one(name)?, AtFlags::REMOVEDIR)?)
    }

    /// Renames within the folder, in place of what has the new name.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.0, one(from)?, &self.0, one(to)?)?)
    }

    /// Renames into another folder, or the same, without ever replacing a file that appeared meanwhile.
    /// Errors: [`FileError::Exists`] when the new name is taken; else what the system says.
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
                    // No links on this file system either: the last look is the best there is.
                    Err(_) if other.look(to).is_ok() => Err(FileError::Exists),
                    Err(_) => Ok(rustix::fs::renameat(&self.0, from, &other.0, to).map_err(io::Error::from)?),
                }
            }
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Whether the system lets this process write the file.
    pub fn may_write(&self, name: &OsStr) -> rustix::io::Result<()> {
        rustix::fs::accessat(&self.0, name, rustix::fs::Access::WRITE_OK, AtFlags::empty())
    }
}

/// A name and no path: what has a `/` in it could lead through a link.
fn one(name: &OsStr) -> io::Result<&OsStr> {
    let single = !name.as_bytes().contains(&b'/') && name != "..";
    if single { Ok(name) } else { Err(Errno::INVAL.into()) }
}
