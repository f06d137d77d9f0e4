//! Folders as handles, which a command can't redirect; device and inode identify a folder.
#![cfg(target_os = "linux")]

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat,
};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOFOLLOW);

/// Device and inode, which don't change when a file is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity(u64, u64);

impl Identity {
    pub fn of(stat: &Stat) -> Self {
        Self(stat.st_dev, stat.st_ino)
    }
}

/// Differs whenever the file does: its identity, and when it changed, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp(Identity, i128);

impl Stamp {
    pub fn of(stat: &Stat) -> Self {
        let changed = i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec);
        Self(Identity::of(stat), changed)
    }
}

/// Opens an absolute path without following links.
pub fn absolute(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat2(CWD, path, FOLDER, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)?)
}

pub fn below(root: &OwnedFd, rest: &Path) -> io::Result<(OwnedFd, Identity)> {
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
    let folder = openat2(root, rest, FOLDER, Mode::empty(), how)?;
    let identity = Identity::of(&fstat(&folder)?);
    Ok((folder, identity))
}

pub fn look(folder: &OwnedFd, name: &OsStr) -> Option<Stat> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

pub fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

pub fn names(folder: &OwnedFd) -> Vec<OsString> {
    let entries = Dir::read_from(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    names.filter(|name| name != "." && name != "..").collect()
}

/// A regular file's bytes and mode; `None` for anything else, or if it is larger than `limit`.
pub fn read(folder: &OwnedFd, name: &OsStr, limit: u64) -> Option<(Vec<u8>, u32)> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // Even opening a device can trigger something.
    look(folder, name).filter(|stat| kind(stat) == FileType::RegularFile)?;
    let file = openat(folder, name, flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok().filter(|stat| kind(stat) == FileType::RegularFile)?;
    let mut bytes = Vec::new();
    File::from(file).take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some((bytes, stat.st_mode & 0o7777))
}
