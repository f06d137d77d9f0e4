//! Copies of protected files that no mount can protect; restored if their folder is still the same.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, Stat, fchmod, mkdirat, openat};

use super::handles::{self, Identity, Stamp};
use super::set_aside;

const MAX_BYTES: u64 = 16 * 1024 * 1024;
const MAX_FILES: usize = 2_000;

#[derive(Debug)]
pub struct Budget(u64, usize);

impl Budget {
    pub const WHOLE: Self = Self(MAX_BYTES, MAX_FILES);
}

#[derive(Debug)]
enum EntryBackup {
    Folder,
    /// Content and mode.
    File(Vec<u8>, u32),
    /// A link, or a file beyond the limit.
    Other(Stamp),
}

impl EntryBackup {
    /// `false` for a link to the same bytes (its target can change) and for a hook that became executable.
    fn is_still(&self, folder: &OwnedFd, name: &OsStr, stat: &Stat) -> bool {
        match self {
            Self::Folder => handles::kind(stat) == FileType::Directory,
            Self::File(bytes, mode) => handles::read(folder, name, bytes.len() as u64)
                .is_some_and(|(now, now_mode)| now == *bytes && now_mode == *mode),
            Self::Other(stamp) => Stamp::of(stat) == *stamp,
        }
    }
}

#[derive(Debug)]
struct FolderBackup {
    identity: Identity,
    /// Only these names are protected, not the whole folder.
    only_listed: bool,
    entries: BTreeMap<OsString, EntryBackup>,
}

/// Folders by their path below the root, outer ones first.
#[derive(Debug)]
pub struct Backup(BTreeMap<PathBuf, FolderBackup>);

impl Backup {
    /// Copies `path`, which is below `root`; `None` if it can't be read.
    pub fn take(root: &OwnedFd, path: &Path, budget: &mut Budget) -> Option<Self> {
        let mut backup = Self(BTreeMap::new());
        let (around, name) = (path.parent()?, path.file_name()?);
        let (folder, identity) = handles::below(root, around).ok()?;
        let entries = BTreeMap::from([(name.to_owned(), backup.entry(&folder, path, budget)?)]);
        backup.0.insert(around.to_owned(), FolderBackup { identity, only_listed: true, entries });
        Some(backup)
    }

    fn entry(&mut self, parent: &OwnedFd, path: &Path, budget: &mut Budget) -> Option<EntryBackup> {
        let name = path.file_name()?;
        let stat = handles::look(parent, name)?;
        if handles::kind(&stat) != FileType::Directory {
            let kept = if budget.1 > 0 { handles::read(parent, name, budget.0) } else { None };
            return Some(match kept {
                Some((bytes, mode)) => {
                    *budget = Budget(budget.0 - bytes.len() as u64, budget.1 - 1);
                    EntryBackup::File(bytes, mode)
                }
                None => EntryBackup::Other(Stamp::of(&stat)),
            });
        }
        let (folder, identity) = handles::below(parent, Path::new(name)).ok()?;
        let mut entries = BTreeMap::new();
        for name in handles::names(&folder) {
            if let Some(entry) = self.entry(&folder, &path.join(&name), budget) {
                entries.insert(name, entry);
            }
        }
        self.0.insert(path.to_owned(), FolderBackup { identity, only_listed: false, entries });
        Some(EntryBackup::Folder)
    }

    /// Restores changes except `opened`; moves replacements to `kept`. `at` is the root's path, for messages.
    pub fn restore(
        &self,
        root: &OwnedFd,
        at: &Path,
        kept: Option<&Path>,
        opened: &[PathBuf],
        notices: &mut Vec<String>,
    ) {
        let mut remade: BTreeSet<&Path> = BTreeSet::new();
        for (path, before) in &self.0 {
            let shown = at.join(path);
            let folder = match handles::below(root, path) {
                Ok((folder, now)) if now == before.identity || remade.contains(path.as_path()) => folder,
                // git recreates folders of files that it may change.
                _ if is_opened(opened, &shown) => continue,
                _ => {
                    notices.push(format!(
                        "{} is protected; it was replaced while the command ran, and nothing in it was touched",
                        shown.display()
                    ));
                    continue;
                }
            };
            if !before.only_listed {
                for name in handles::names(&folder) {
                    if !before.entries.contains_key(&name)
                        && !is_opened(opened, &shown.join(&name))
                        && let Some(stat) = handles::look(&folder, &name)
                    {
                        let (seen, shown) = (Identity::of(&stat), shown.join(&name));
                        notices.push(set_aside::move_away(&folder, &name, seen, &shown, kept));
                    }
                }
            }
            for (name, entry) in &before.entries {
                let shown = shown.join(name);
                if is_opened(opened, &shown) {
                    continue;
                }
                if let Some(stat) = handles::look(&folder, name) {
                    if entry.is_still(&folder, name, &stat) {
                        continue;
                    }
                    let seen = Identity::of(&stat);
                    notices.push(set_aside::move_away(&folder, name, seen, &shown, kept));
                }
                match entry {
                    EntryBackup::Folder if mkdirat(&folder, name, Mode::from_raw_mode(0o755)).is_ok() => {
                        if let Some((path, _)) = self.0.get_key_value(&path.join(name)) {
                            remade.insert(path);
                        }
                    }
                    EntryBackup::File(bytes, mode) if write_back(&folder, name, bytes, *mode).is_ok() => {
                        notices.push(format!("{} is protected and was restored", shown.display()));
                    }
                    _ => notices.push(format!(
                        "{} is protected; the command removed it, and it could not be restored",
                        shown.display()
                    )),
                }
            }
        }
    }
}

pub fn is_opened(opened: &[PathBuf], path: &Path) -> bool {
    opened.iter().any(|open| open.starts_with(path))
}

pub fn write_back(folder: &OwnedFd, name: &OsStr, bytes: &[u8], mode: u32) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::from_raw_mode(0o600))?;
    let mut file = File::from(file);
    file.write_all(bytes)?;
    Ok(fchmod(&file, Mode::from_raw_mode(mode))?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn lookalikes_are_restored() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let hooks = top.join("hooks");
        fs::create_dir(&hooks).unwrap();
        let names = ["kept", "linked", "piped", "enabled"];
        for name in names {
            fs::write(hooks.join(name), "true").unwrap();
            fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o644)).unwrap();
        }
        let root = handles::absolute(&top).unwrap();
        let before = Backup::take(&root, Path::new("hooks"), &mut { Budget::WHOLE }).unwrap();
        fs::remove_file(hooks.join("linked")).unwrap();
        fs::write(top.join("twin"), "true").unwrap();
        symlink(top.join("twin"), hooks.join("linked")).unwrap();
        fs::remove_file(hooks.join("piped")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(hooks.join("piped")).status();
        assert!(made.unwrap().success());
        fs::set_permissions(hooks.join("enabled"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut notices = Vec::new();
        before.restore(&root, &top, Some(&top.join("aside")), &[], &mut notices);
        assert_eq!(notices.len(), 6, "{notices:?}");
        for name in names {
            let path = hooks.join(name);
            let meta = fs::symlink_metadata(&path).unwrap();
            assert!(meta.is_file() && meta.permissions().mode() & 0o777 == 0o644, "{name}");
            assert_eq!(fs::read(&path).unwrap(), b"true");
        }
        // Each moved file has a note of its origin.
        let kept: Vec<PathBuf> =
            fs::read_dir(top.join("aside")).unwrap().map(|e| e.unwrap().path()).collect();
        assert_eq!(kept.len(), 3);
        assert!(kept.iter().all(|entry| {
            let origin = PathBuf::from(fs::read_to_string(entry.join("origin")).unwrap());
            origin.parent() == Some(&hooks)
                && entry.join(origin.file_name().unwrap()).symlink_metadata().is_ok()
        }));
    }

    #[test]
    fn links_and_large_files() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let hooks = top.join("hooks");
        fs::create_dir(&hooks).unwrap();
        fs::write(hooks.join("large"), "true && true").unwrap();
        symlink("../shared-hook", hooks.join("linked")).unwrap();
        let root = handles::absolute(&top).unwrap();
        let before = Backup::take(&root, Path::new("hooks"), &mut Budget(4, 9)).unwrap();
        let mut notices = Vec::new();
        before.restore(&root, &top, None, &[], &mut notices);
        assert!(notices.is_empty(), "{notices:?}");
        fs::remove_file(hooks.join("linked")).unwrap();
        symlink("../other-hook", hooks.join("linked")).unwrap();
        fs::remove_file(hooks.join("large")).unwrap();
        before.restore(&root, &top, None, &[], &mut notices);
        assert_eq!(notices.len(), 3, "{notices:?}");
    }

    /// A folder that was replaced with another one is left alone; a removed one is restored.
    #[test]
    fn only_seen_folders_are_touched() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        for folder in ["git/hooks", "other/hooks"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        fs::write(top.join("git/hooks/a"), "mine").unwrap();
        fs::write(top.join("other/hooks/b"), "theirs").unwrap();
        let root = handles::absolute(&top).unwrap();
        let before = Backup::take(&root, Path::new("git/hooks"), &mut { Budget::WHOLE }).unwrap();
        fs::remove_dir_all(top.join("git/hooks")).unwrap();
        let mut notices = Vec::new();
        before.restore(&root, &top, None, &[], &mut notices);
        assert_eq!(fs::read(top.join("git/hooks/a")).unwrap(), b"mine");
        let before = Backup::take(&root, Path::new("git/hooks"), &mut { Budget::WHOLE }).unwrap();
        for link in [true, false] {
            fs::rename(top.join("git"), top.join("gone")).unwrap();
            match link {
                true => symlink("other", top.join("git")).unwrap(),
                false => fs::rename(top.join("other"), top.join("git")).unwrap(),
            }
            notices.clear();
            before.restore(&root, &top, None, &[], &mut notices);
            assert_eq!(notices.len(), 2, "{notices:?}");
            let theirs = fs::read_dir(top.join("git/hooks")).unwrap().map(|e| e.unwrap().file_name());
            assert_eq!(theirs.collect::<Vec<_>>(), ["b"]);
            if link {
                fs::remove_file(top.join("git")).unwrap();
                fs::rename(top.join("gone"), top.join("git")).unwrap();
            }
        }
    }
}
