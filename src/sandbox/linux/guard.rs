//! What no mount can protect: a protected name that does not exist yet, and protected links. A snapshot is taken before a
//! command and restored after it: what appeared is moved aside, not deleted, because another program may have made it
//! meanwhile. Where there are no mounts at all, contents are compared as well.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::base::file;
use crate::sandbox::git_folders;
use crate::sandbox::protected_paths::{IN_GIT, is_rules_file};
use crate::sandbox::spec::{RawPath, SandboxSpec};

/// Contents beyond this are not kept for comparison, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;
const MAX_FILES: usize = 2_000;

/// What a protected path was before the command.
#[derive(Debug)]
enum PriorState {
    /// The first part of it that did not exist.
    Absent(PathBuf),
    Link(PathBuf),
    /// Mounted read-only, so it is what it was.
    ReadOnly,
    /// A file or folder with this inode.
    Inode(u64),
    /// What lies below by path; for a file, itself.
    Copied(BTreeMap<PathBuf, FileBackup>),
}

/// What one file was.
#[derive(Debug)]
enum FileBackup {
    /// Its content and mode.
    File(Vec<u8>, u32),
    /// A link, or a file for which there was no room: its number and when it changed last, in nanoseconds.
    Stamp(u64, i128),
}

impl FileBackup {
    fn stamp(meta: &fs::Metadata) -> Self {
        Self::Stamp(meta.ino(), changed_ns(meta))
    }

    /// Whether the file is what it was. A link to the same bytes is not: what it leads to can be changed later. Nor is a
    /// hook that may be run now and could not before.
    fn is_still(&self, path: &Path) -> bool {
        let Ok(meta) = fs::symlink_metadata(path) else { return false };
        match self {
            Self::File(bytes, mode) => {
                meta.is_file()
                    && meta.permissions().mode() == *mode
                    && file::read(path, bytes.len() as u64).is_ok_and(|(now, _)| now == *bytes)
            }
            Self::Stamp(number, changed_ns_then) => {
                (meta.ino(), changed_ns(&meta)) == (*number, *changed_ns_then)
            }
        }
    }
}

fn changed_ns(meta: &fs::Metadata) -> i128 {
    i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec())
}

/// The protected paths as they were before a command.
#[derive(Debug)]
pub struct ProtectedFiles {
    before: Vec<(PathBuf, PriorState)>,
    rules: Vec<(PathBuf, BTreeSet<OsString>)>,
    /// Existing paths, to be mounted read-only.
    pub read_only: Vec<PathBuf>,
    /// Folders on the way to those, which must not be moved away.
    pub pinned: Vec<PathBuf>,
}

impl ProtectedFiles {
    /// Looks at everything that `spec` protects. With `mounts`, what exists will be mounted read-only.
    pub fn take(spec: &SandboxSpec, mounts: bool) -> Self {
        let mut snapshot =
            Self { before: Vec::new(), rules: Vec::new(), read_only: Vec::new(), pinned: Vec::new() };
        let mut protected: BTreeSet<PathBuf> = spec.protected.iter().map(|path| path.0.clone()).collect();
        for RawPath(folder) in &spec.rules_folders {
            let names = rules_files(folder);
            protected.extend(names.iter().map(|name| folder.join(name)));
            snapshot.rules.push((folder.clone(), names));
        }
        let mut budget = (MAX_BYTES, MAX_FILES);
        for path in protected {
            let Some(root) = spec.writable.iter().find(|root| path.starts_with(root)) else { continue };
            let before = snapshot.look(&path, root, mounts, &mut budget);
            snapshot.before.push((path, before));
        }
        for RawPath(git) in &spec.nested {
            snapshot.look_below(git, mounts, &mut budget);
        }
        snapshot.pinned.sort();
        snapshot.pinned.dedup();
        snapshot
    }

    fn look(&mut self, path: &Path, root: &Path, mounts: bool, budget: &mut (u64, usize)) -> PriorState {
        let steps: Vec<&Path> = path.ancestors().take_while(|step| *step != root).collect();
        for step in steps.into_iter().rev() {
            let Ok(meta) = fs::symlink_metadata(step) else { return PriorState::Absent(step.to_owned()) };
            if meta.is_symlink() {
                // The link itself can be replaced; what it leads to can be mounted read-only.
                let target =
                    fs::canonicalize(path).ok().filter(|real| real.starts_with(root) && real != root);
                if let Some(real) = target.filter(|_| mounts) {
                    self.mount_read_only(&real, root);
                }
                return fs::read_link(step).map_or(PriorState::ReadOnly, |to| {
                    self.before.push((step.to_owned(), PriorState::Link(to)));
                    PriorState::ReadOnly
                });
            }
        }
        if mounts {
            self.mount_read_only(path, root);
            return PriorState::ReadOnly;
        }
        let mut copied = BTreeMap::new();
        copy(path, &mut copied, budget);
        PriorState::Copied(copied)
    }

    /// A repository below the workspace. Only its own folder is kept from being moved away, not all those on the way to
    /// it, between which the project's files must still be moved; whether it is still there is seen afterwards.
    fn look_below(&mut self, git: &Path, mounts: bool, budget: &mut (u64, usize)) {
        let around = git.parent().and_then(Path::parent);
        let (Ok(meta), Some(around)) = (fs::symlink_metadata(git), around) else { return };
        self.before.push((git.to_owned(), PriorState::Inode(meta.ino())));
        let names: Vec<PathBuf> = match meta.is_dir() {
            true => IN_GIT.iter().map(|name| git.join(name)).collect(),
            false => vec![git.to_owned()],
        };
        for path in names {
            let before = self.look(&path, around, mounts, budget);
            self.before.push((path, before));
        }
    }

    fn mount_read_only(&mut self, path: &Path, root: &Path) {
        self.read_only.push(path.to_owned());
        let between = path.ancestors().skip(1).take_while(|step| *step != root && step.starts_with(root));
        self.pinned.extend(between.map(Path::to_owned));
    }

    /// Undoes what the command has changed; a sentence for each, for users. What is taken away goes to `aside`.
    pub fn restore(&self, aside: &Path) -> Vec<String> {
        let mut notices = Vec::new();
        for (path, before) in &self.before {
            match before {
                PriorState::ReadOnly => {}
                PriorState::Inode(number) => {
                    if fs::symlink_metadata(path).is_ok_and(|meta| meta.ino() != *number) {
                        notices.push(move_aside(path, aside));
                    }
                }
                PriorState::Absent(first) => {
                    if let Some(wrong) = made_since(path, first) {
                        notices.push(move_aside(wrong, aside));
                        // Folders that were made only to hold it; others stay, for they are not empty.
                        for folder in wrong.ancestors().skip(1).take_while(|folder| folder.starts_with(first))
                        {
                            let _ = fs::remove_dir(folder);
                        }
                    }
                }
                PriorState::Link(target) => {
                    if fs::read_link(path).is_ok_and(|now| now == *target) {
                        continue;
                    }
                    if fs::symlink_metadata(path).is_ok() {
                        notices.push(move_aside(path, aside));
                    }
                    let _ = std::os::unix::fs::symlink(target, path);
                }
                PriorState::Copied(files) => compare(path, files, aside, &mut notices),
            }
        }
        for (folder, names) in &self.rules {
            for name in rules_files(folder).difference(names) {
                notices.push(move_aside(&folder.join(name), aside));
            }
        }
        notices
    }
}

fn rules_files(folder: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).filter(|name| is_rules_file(name)).collect()
}

/// What of an absent protected path is there now and must go.
fn made_since<'a>(path: &'a Path, first: &'a Path) -> Option<&'a Path> {
    let meta = fs::symlink_metadata(first).ok()?;
    // A link, or a `.git` file, leads to a place that nobody guards.
    let leads_away =
        meta.is_symlink() || (!meta.is_dir() && first.file_name().is_some_and(|name| name == ".git"));
    if leads_away {
        return Some(first);
    }
    let now = fs::symlink_metadata(path).ok()?;
    let name = path.file_name().unwrap_or_default();
    let in_git = path.parent().is_some_and(|parent| parent.join("HEAD").is_file());
    let harmless = in_git
        && match name.to_str() {
            Some("config") => {
                now.is_file()
                    && git_folders::read(path).is_some_and(|text| git_folders::is_plain_config(&text))
            }
            Some("hooks") => now.is_dir() && only_samples(path),
            _ => false,
        };
    (!harmless).then_some(path)
}

/// Whether a hooks folder holds only what git puts there as examples, which never run.
fn only_samples(folder: &Path) -> bool {
    let Ok(mut entries) = fs::read_dir(folder) else { return false };
    entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".sample")))
}

fn copy(path: &Path, into: &mut BTreeMap<PathBuf, FileBackup>, budget: &mut (u64, usize)) {
    for entry in walkdir::WalkDir::new(path).into_iter().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            continue;
        }
        let fits = meta.is_file() && budget.1 > 0;
        let bytes = fits.then(|| file::read(entry.path(), budget.0).ok()).flatten();
        let backup = match bytes {
            Some((bytes, _)) => {
                *budget = (budget.0 - bytes.len() as u64, budget.1 - 1);
                FileBackup::File(bytes, meta.permissions().mode())
            }
            None => FileBackup::stamp(&meta),
        };
        into.insert(entry.into_path(), backup);
    }
}

fn compare(path: &Path, files: &BTreeMap<PathBuf, FileBackup>, aside: &Path, notices: &mut Vec<String>) {
    let now = walkdir::WalkDir::new(path).into_iter().flatten().filter(|entry| !entry.file_type().is_dir());
    for entry in now {
        if !files.get(entry.path()).is_some_and(|before| before.is_still(entry.path())) {
            notices.push(move_aside(entry.path(), aside));
        }
    }
    for (path, before) in files {
        if fs::symlink_metadata(path).is_ok() {
            continue;
        }
        let shown = path.display();
        match before {
            FileBackup::File(bytes, mode) if write_back(path, bytes, *mode).is_ok() => {
                notices.push(format!("{shown} is protected and was restored"));
            }
            _ => notices
                .push(format!("{shown} is protected; the command removed it, and it could not be restored")),
        }
    }
}

fn write_back(file: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(file, bytes)?;
    fs::set_permissions(file, fs::Permissions::from_mode(mode))
}

/// Moves something out of the workspace.
fn move_aside(path: &Path, aside: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = aside.join(format!("{:08x}-{name}", fastrand::u32(..)));
    let shown = path.display();
    let moved =
        fs::create_dir_all(aside).and_then(|()| fs::rename(path, &target)).is_ok() || by_copy(path, &target);
    if moved {
        return format!(
            "{shown} is protected; what the command created there was moved to {}",
            target.display()
        );
    }
    let is_dir = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    match if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) } {
        Ok(()) => format!("{shown} is protected; what the command created there was removed"),
        Err(error) => {
            format!("{shown} is protected, but what the command created there could not be removed: {error}")
        }
    }
}

/// Between file systems a rename is a copy; only a plain file is worth it.
fn by_copy(path: &Path, target: &Path) -> bool {
    let plain = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
    plain && fs::copy(path, target).is_ok() && fs::remove_file(path).is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lookalikes_are_restored() {
        let dir = tempfile::tempdir().unwrap();
        let (hooks, aside) = (dir.path().join("hooks"), dir.path().join("aside"));
        fs::create_dir(&hooks).unwrap();
        let names = ["kept", "linked", "piped", "enabled"];
        for name in names {
            fs::write(hooks.join(name), "true").unwrap();
            fs::set_permissions(hooks.join(name), fs::Permissions::from_mode(0o644)).unwrap();
        }
        let mut before = BTreeMap::new();
        copy(&hooks, &mut before, &mut (MAX_BYTES, 9));
        fs::remove_file(hooks.join("linked")).unwrap();
        fs::write(dir.path().join("twin"), "true").unwrap();
        std::os::unix::fs::symlink(dir.path().join("twin"), hooks.join("linked")).unwrap();
        fs::remove_file(hooks.join("piped")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(hooks.join("piped")).status();
        assert!(made.unwrap().success());
        fs::set_permissions(hooks.join("enabled"), fs::Permissions::from_mode(0o755)).unwrap();
        let mut notices = Vec::new();
        compare(&hooks, &before, &aside, &mut notices);
        assert_eq!(notices.len(), 6, "{notices:?}");
        for name in names {
            let path = hooks.join(name);
            let meta = fs::symlink_metadata(&path).unwrap();
            assert!(meta.is_file() && meta.permissions().mode() & 0o777 == 0o644, "{name}");
            assert_eq!(fs::read(&path).unwrap(), b"true");
        }
    }

    #[test]
    fn links_and_large_files() {
        let dir = tempfile::tempdir().unwrap();
        let hooks = dir.path().join("hooks");
        fs::create_dir(&hooks).unwrap();
        fs::write(hooks.join("large"), "true && true").unwrap();
        std::os::unix::fs::symlink("../shared-hook", hooks.join("linked")).unwrap();
        let mut before = BTreeMap::new();
        copy(&hooks, &mut before, &mut (4, 9));
        let mut notices = Vec::new();
        compare(&hooks, &before, &dir.path().join("aside"), &mut notices);
        assert!(notices.is_empty(), "{notices:?}");
        fs::remove_file(hooks.join("linked")).unwrap();
        std::os::unix::fs::symlink("../other-hook", hooks.join("linked")).unwrap();
        fs::remove_file(hooks.join("large")).unwrap();
        compare(&hooks, &before, &dir.path().join("aside"), &mut notices);
        assert_eq!(notices.len(), 3, "{notices:?}");
    }
}
