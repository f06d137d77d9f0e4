//! Where things go that appeared at a protected path and would run or lead programs elsewhere: into the state folder, each with
//! a note of where it was, up to a quota; else they stay beside their place under a harmless name. Nothing is deleted.
#![cfg(target_os = "linux")]

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, mkdirat, openat, renameat_with, unlinkat};

use super::handles::{self, Identity};

/// Things that the state folder keeps at most, and their size in bytes.
const MAX_KEPT: usize = 200;
const MAX_KEPT_BYTES: u64 = 256 * 1024 * 1024;
/// Says in each folder where its content was.
const ORIGIN: &str = "origin";

/// Moves what `folder` has under `name` away, if it still is the one that was looked at; a sentence for the user.
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
        Ok(target) => format!(
            "{place} is protected; what appeared there was moved to {target}; if it is yours, move it back",
            target = target.display()
        ),
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
) -> io::Result<PathBuf> {
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
    Ok(real.join(own).join(name))
}

fn beside(folder: &OwnedFd, name: &OsStr, seen: Identity, shown: &Path) -> io::Result<PathBuf> {
    let mut to = name.to_owned();
    to.push(format!(".set-aside-{:08x}", fastrand::u32(..)));
    rename(folder, name, seen, folder, &to)?;
    Ok(shown.with_file_name(to))
}

/// Renames without replacing anything; goes back when something else had come to stand there meanwhile.
fn rename(folder: &OwnedFd, name: &OsStr, seen: Identity, to_folder: &OwnedFd, to: &OsStr) -> io::Result<()> {
    renameat_with(folder, name, to_folder, to, RenameFlags::NOREPLACE)?;
    if handles::look(to_folder, to).is_some_and(|stat| Identity::of(&stat) == seen) {
        return Ok(());
    }
    renameat_with(to_folder, to, folder, name, RenameFlags::NOREPLACE)?;
    Err(io::Error::other("another program is changing it"))
}
