//! Replaces `folder/handle.rs` on Windows, where opening folders isn't supported yet.

use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::file::FileError;
use crate::system::os::unsupported;

#[derive(Debug)]
pub struct Folder(Infallible);

pub fn look(_: &Path) -> io::Result<Metadata> {
    unsupported()
}

pub fn open(_: &Path) -> io::Result<File> {
    unsupported()
}

impl Folder {
    pub fn open(_: &Path) -> io::Result<Self> {
        unsupported()
    }

    pub fn of(_: &Path) -> Result<(Self, &OsStr), FileError> {
        Ok(unsupported()?)
    }

    pub fn make(_: &Path) -> io::Result<(Self, Vec<PathBuf>)> {
        unsupported()
    }

    pub fn unmake(_: &[PathBuf]) {}

    pub fn create_new(&self, _: &OsStr, _mode: u32) -> io::Result<File> {
        match self.0 {}
    }

    pub fn open_to_change(&self, _: &OsStr) -> io::Result<File> {
        match self.0 {}
    }

    pub fn open_lock(&self, _: &OsStr) -> io::Result<File> {
        match self.0 {}
    }

    pub fn open_file(&self, _: &OsStr) -> Result<(File, Metadata), FileError> {
        match self.0 {}
    }

    pub fn look(&self, _: &OsStr) -> io::Result<Metadata> {
        match self.0 {}
    }

    pub fn read_link(&self, _: &OsStr) -> io::Result<PathBuf> {
        match self.0 {}
    }

    pub fn names(&self) -> io::Result<Vec<OsString>> {
        match self.0 {}
    }

    pub fn sync(&self) {
        match self.0 {}
    }

    pub fn make_folder(&self, _: &OsStr) -> io::Result<bool> {
        match self.0 {}
    }

    pub fn make_link(&self, _: &OsStr, _to: &Path) -> io::Result<()> {
        match self.0 {}
    }

    pub fn set_mode(&self, _: &OsStr, _mode: u32) -> io::Result<()> {
        match self.0 {}
    }

    pub fn remove_file(&self, _: &OsStr) -> io::Result<()> {
        match self.0 {}
    }

    pub fn remove_folder(&self, _: &OsStr) -> io::Result<()> {
        match self.0 {}
    }

    pub fn rename(&self, _: &OsStr, _to: &OsStr) -> io::Result<()> {
        match self.0 {}
    }

    pub fn rename_new(&self, _: &OsStr, _other: &Self, _to: &OsStr) -> Result<(), FileError> {
        match self.0 {}
    }

    pub fn may_write(&self, _: &OsStr, _mode: u32) -> Result<(), FileError> {
        match self.0 {}
    }
}
