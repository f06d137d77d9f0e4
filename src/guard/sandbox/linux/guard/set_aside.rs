//! Moves away what appeared at a protected path and would run or redirect programs: into the state folder
//! with a note of its origin, or beyond a quota, to a harmless name in place.
#![cfg(target_os = "linux")]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, mkdirat, openat, renameat_with, unlinkat};

use super::handles::{self, Identity};
use base::file;

/// Limits for what is kept in the state folder: number and total size.
const MAX_KEPT: usize = 200;
const MAX_KEPT_BYTES: u64 = 256 * 1024 * 1024;
/// A file in each folder that names the origin of its content.
const ORIGIN: &str = "origin";
const MAX_ORIGIN_BYTES: u64 = 4096;

/// Moves `name` away if it is still the file that was checked; returns a sentence for the user.
pub fn move_away(
    folder: &OwnedFd,
    name: &OsStr,
    seen: Identity,
    shown: &Path,
    kept: Option<&Path>,
) -> String {
    let place = shown.display();
    let moved = kept.and_then(|kept| into_state(folder, name, seen, shown, kept).ok());
    match moved.map_or_else(|| beside(folder, name, seen, shown), Ok) {
        Ok(Target { path, id }) => {
            let target = path.display();
            let back = match id {
                Some(id) => format!("`mycode sandbox restore {id}` puts it back"),
                None => "move it back".to_owned(),
            };
            format!("{place} is protected; what appeared there was moved to {target}; if it is yours, {back}")
        }
        Err(error) => {
            format!("{place} is protected; what appeared there is still there and may be harmful: {error}")
        }
    }
}

fn into_state(
    folder: &OwnedFd,
    name: &OsStr,
    seen: Identity,
    shown: &Path,
    kept: &Path,
) -> io::Result<Target> {
    fs::create_dir_all(kept)?;
    let real = kept.canonicalize()?;
    let all = handles::absolute(&real)?;
    let bytes = |path: &Path| -> u64 {
        let entries = walkdir::WalkDir::new(path).into_iter().flatten();
        entries.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum()
    };
    if handles::names(&all).len() >= MAX_KEPT || bytes(&real) > MAX_KEPT_BYTES {
        return Err(io::ErrorKind::QuotaExceeded.into());
    }
    let own = OsString::from(format!("{:016x}", fastrand::u64(..)));
    mkdirat(&all, &own, Mode::from_raw_mode(0o700))?;
    let (entry, _) = handles::below(&all, Path::new(&own))?;
    if let Err(error) = rename(folder, name, seen, &entry, name) {
        let _ = unlinkat(&all, &own, AtFlags::REMOVEDIR);
        return Err(error);
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    if let Ok(note) = openat(&entry, ORIGIN, flags, Mode::from_raw_mode(0o600)) {
        let _ = File::from(note).write_all(shown.as_os_str().as_bytes());
    }
    Ok(Target { path: real.join(&own).join(name), id: own.into_string().ok() })
}

fn beside(folder: &OwnedFd, name: &OsStr, seen: Identity, shown: &Path) -> io::Result<Target> {
    let mut to = name.to_owned();
    to.push(format!(".set-aside-{:08x}", fastrand::u32(..)));
    rename(folder, name, seen, folder, &to)?;
    Ok(Target { path: shown.with_file_name(to), id: None })
}

struct Target {
    path: PathBuf,
    id: Option<String>,
}

#[derive(Clone, Debug)]
pub struct SetAside {
    pub id: String,
    pub origin: PathBuf,
    pub path: PathBuf,
    moved: SystemTime,
}

/// The contents of the folder `kept`, latest first.
pub fn list(kept: &Path) -> Vec<SetAside> {
    let entries = fs::read_dir(kept).into_iter().flatten().flatten();
    let mut found: Vec<SetAside> = entries.filter_map(|entry| known(&entry.path())).collect();
    found.sort_by(|a, b| b.moved.cmp(&a.moved).then_with(|| a.id.cmp(&b.id)));
    found
}

fn known(folder: &Path) -> Option<SetAside> {
    let id = folder.file_name()?.to_str()?.to_owned();
    let note = folder.join(ORIGIN);
    let (bytes, meta) = file::read(&note, MAX_ORIGIN_BYTES).ok()?;
    let origin = PathBuf::from(OsString::from_vec(bytes));
    let path = folder.join(origin.file_name()?);
    path.symlink_metadata().ok()?;
    Some(SetAside { id, origin, path, moved: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH) })
}

impl SetAside {
    /// Fails if something is there now, or a link leads there.
    pub fn restore(&self) -> io::Result<()> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let parts = self.path.parent().zip(self.path.file_name()).zip(self.origin.parent());
        let ((folder, name), target) = parts.ok_or_else(missing)?;
        let (from, to) = (handles::absolute(&folder.canonicalize()?)?, handles::absolute(target)?);
        renameat_with(&from, name, &to, name, RenameFlags::NOREPLACE)?;
        let _ = fs::remove_file(folder.join(ORIGIN));
        let _ = fs::remove_dir(folder);
        Ok(())
    }
}

/// Never replaces anything; undone if another file has taken the name.
fn rename(folder: &OwnedFd, name: &OsStr, seen: Identity, to_folder: &OwnedFd, to: &OsStr) -> io::Result<()> {
    renameat_with(folder, name, to_folder, to, RenameFlags::NOREPLACE)?;
    if handles::look(to_folder, to).is_some_and(|stat| Identity::of(&stat) == seen) {
        return Ok(());
    }
    renameat_with(to_folder, to, folder, name, RenameFlags::NOREPLACE)?;
    Err(io::Error::other("another program is changing it"))
}
