//! What no mount can hold: a protected name that does not exist yet, and protected links. Taken stock of before a command
//! and put right after it: what appeared is moved aside, not deleted, for somebody else may have made it meanwhile. Where
//! there are no mounts at all, contents are compared as well.

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
enum Before {
    /// The first part of it that did not exist.
    Absent(PathBuf),
    Link(PathBuf),
    /// Mounted read-only, so it is what it was.
    Held,
    /// A file or folder with this number.
    Same(u64),
    /// What lies below by path; for a file, itself.
    Copied(BTreeMap<PathBuf, Kept>),
}

/// What one file was.
#[derive(Debug)]
enum Kept {
    /// Its content and mode.
    File(Vec<u8>, u32),
    /// A link, or a file for which there was no room: its number and when it changed last, in nanoseconds.
    Seen(u64, i128),
}

impl Kept {
    fn seen(meta: &fs::Metadata) -> Self {
        Self::Seen(meta.ino(), changed_ns(meta))
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
            Self::Seen(number, changed_ns_then) => {
                (meta.ino(), changed_ns(&meta)) == (*number, *changed_ns_then)
            }
        }
    }
}

fn changed_ns(meta: &fs::Metadata) -> i128 {
    i128::from(meta.ctime()) * 1_000_000_000 + i128::from(meta.ctime_nsec())
}

/// The stock.
#[derive(Debug)]
pub struct Snapshot {
    before: Vec<(PathBuf, Before)>,
    rules: Vec<(PathBuf, BTreeSet<OsString>)>,
    /// Existing paths that mounts hold.
    pub held: Vec<PathBuf>,
    /// Folders on the way to those, which must not be moved away.
    pub pinned: Vec<PathBuf>,
}

impl Snapshot {
    /// Looks at everything that `plan` protects. With `mounts`, what exists will be held by them.
    pub fn take(plan: &SandboxSpec, mounts: bool) -> Self {
        let mut stock = Self { before: Vec::new(), rules: Vec::new(), held: Vec::new(), pinned: Vec::new() };
        let mut protected: BTreeSet<PathBuf> = plan.protected.iter().map(|path| path.0.clone()).collect();
        for RawPath(folder) in &plan.rules_in {
            let names = rules_files(folder);
            protected.extend(names.iter().map(|name| folder.join(name)));
            stock.rules.push((folder.clone(), names));
        }
        let mut room = (MAX_BYTES, MAX_FILES);
        for path in protected {
            let Some(root) = plan.writable.iter().find(|root| path.starts_with(root)) else { continue };
            let before = stock.look(&path, root, mounts, &mut room);
            stock.before.push((path, before));
        }
        for RawPath(git) in &plan.nested {
            stock.look_below(git, mounts, &mut room);
        }
        stock.pinned.sort();
        stock.pinned.dedup();
        stock
    }

    fn look(&mut self, path: &Path, root: &Path, mounts: bool, room: &mut (u64, usize)) -> Before {
        let steps: Vec<&Path> = path.ancestors().take_while(|step| *step != root).collect();
        for step in steps.into_iter().rev() {
            let Ok(meta) = fs::symlink_metadata(step) else { return Before::Absent(step.to_owned()) };
            if meta.is_symlink() {
                // The link itself can be replaced; what it leads to can be held.
                let target =
                    fs::canonicalize(path).ok().filter(|real| real.starts_with(root) && real != root);
                if let Some(real) = target.filter(|_| mounts) {
                    self.hold(&real, root);
                }
                return fs::read_link(step).map_or(Before::Held, |to| {
                    self.before.push((step.to_owned(), Before::Link(to)));
                    Before::Held
                });
            }
        }
        if mounts {
            self.hold(path, root);
            return Before::Held;
        }
        let mut copied = BTreeMap::new();
        copy(path, &mut copied, room);
        Before::Copied(copied)
    }

    /// A repository below the workspace. Only its own folder is kept from being moved away, not all those on the way to
    /// it, between which the project's files must still be moved; whether it is still there is seen afterwards.
    fn look_below(&mut self, git: &Path, mounts: bool, room: &mut (u64, usize)) {
        let around = git.parent().and_then(Path::parent);
        let (Ok(meta), Some(around)) = (fs::symlink_metadata(git), around) else { return };
        self.before.push((git.to_owned(), Before::Same(meta.ino())));
        let names: Vec<PathBuf> = match meta.is_dir() {
            true => IN_GIT.iter().map(|name| git.join(name)).collect(),
            false => vec![git.to_owned()],
        };
        for path in names {
            let before = self.look(&path, around, mounts, room);
            self.before.push((path, before));
        }
    }

    fn hold(&mut self, path: &Path, root: &Path) {
        self.held.push(path.to_owned());
        let between = path.ancestors().skip(1).take_while(|step| *step != root && step.starts_with(root));
        self.pinned.extend(between.map(Path::to_owned));
    }

    /// Puts right what the command has changed; a sentence for each, for people. What is taken away goes to `aside`.
    pub fn put_right(&self, aside: &Path) -> Vec<String> {
        let mut said = Vec::new();
        for (path, before) in &self.before {
            match before {
                Before::Held => {}
                Before::Same(number) => {
                    if fs::symlink_metadata(path).is_ok_and(|meta| meta.ino() != *number) {
                        said.push(away(path, aside));
                    }
                }
                Before::Absent(first) => {
                    if let Some(wrong) = appeared(path, first) {
                        said.push(away(wrong, aside));
                        // Folders that were made only to hold it; others stay, for they are not empty.
                        for folder in wrong.ancestors().skip(1).take_while(|folder| folder.starts_with(first))
                        {
                            let _ = fs::remove_dir(folder);
                        }
                    }
                }
                Before::Link(target) => {
                    if fs::read_link(path).is_ok_and(|now| now == *target) {
                        continue;
                    }
                    if fs::symlink_metadata(path).is_ok() {
                        said.push(away(path, aside));
                    }
                    let _ = std::os::unix::fs::symlink(target, path);
                }
                Before::Copied(files) => compare(path, files, aside, &mut said),
            }
        }
        for (folder, names) in &self.rules {
            for name in rules_files(folder).difference(names) {
                said.push(away(&folder.join(name), aside));
            }
        }
        said
    }
}

fn rules_files(folder: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).filter(|name| is_rules_file(name)).collect()
}

/// What of an absent protected path is there now and must go.
fn appeared<'a>(path: &'a Path, first: &'a Path) -> Option<&'a Path> {
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

fn copy(path: &Path, into: &mut BTreeMap<PathBuf, Kept>, room: &mut (u64, usize)) {
    for entry in walkdir::WalkDir::new(path).into_iter().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            continue;
        }
        let fits = meta.is_file() && room.1 > 0;
        let bytes = fits.then(|| file::read(entry.path(), room.0).ok()).flatten();
        let kept = match bytes {
            Some((bytes, _)) => {
                *room = (room.0 - bytes.len() as u64, room.1 - 1);
                Kept::File(bytes, meta.permissions().mode())
            }
            None => Kept::seen(&meta),
        };
        into.insert(entry.into_path(), kept);
    }
}

fn compare(path: &Path, files: &BTreeMap<PathBuf, Kept>, aside: &Path, said: &mut Vec<String>) {
    let now = walkdir::WalkDir::new(path).into_iter().flatten().filter(|entry| !entry.file_type().is_dir());
    for entry in now {
        if !files.get(entry.path()).is_some_and(|before| before.is_still(entry.path())) {
            said.push(away(entry.path(), aside));
        }
    }
    for (path, before) in files {
        if fs::symlink_metadata(path).is_ok() {
            continue;
        }
        let shown = path.display();
        match before {
            Kept::File(bytes, mode) if restore(path, bytes, *mode).is_ok() => {
                said.push(format!("{shown} is protected and was put back"));
            }
            _ => said.push(format!(
                "{shown} is protected, but the command removed it and it could not be put back"
            )),
        }
    }
}

fn restore(file: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::write(file, bytes)?;
    fs::set_permissions(file, fs::Permissions::from_mode(mode))
}

/// Moves something out of the workspace.
fn away(path: &Path, aside: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let kept = aside.join(format!("{:08x}-{name}", fastrand::u32(..)));
    let shown = path.display();
    let moved =
        fs::create_dir_all(aside).and_then(|()| fs::rename(path, &kept)).is_ok() || by_copy(path, &kept);
    if moved {
        return format!("{shown} is protected: what the command made there was moved to {}", kept.display());
    }
    let is_dir = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    match if is_dir { fs::remove_dir_all(path) } else { fs::remove_file(path) } {
        Ok(()) => format!("{shown} is protected: what the command made there was removed"),
        Err(error) => {
            format!("{shown} is protected, and what the command made there could not be removed: {error}")
        }
    }
}

/// Between file systems a rename is a copy; only a plain file is worth it.
fn by_copy(path: &Path, kept: &Path) -> bool {
    let plain = fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_BYTES);
    plain && fs::copy(path, kept).is_ok() && fs::remove_file(path).is_ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_only_looks_the_same_is_put_right() {
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
        let mut said = Vec::new();
        compare(&hooks, &before, &aside, &mut said);
        assert_eq!(said.len(), 6, "{said:?}");
        for name in names {
            let path = hooks.join(name);
            let meta = fs::symlink_metadata(&path).unwrap();
            assert!(meta.is_file() && meta.permissions().mode() & 0o777 == 0o644, "{name}");
            assert_eq!(fs::read(&path).unwrap(), b"true");
        }
    }

    #[test]
    fn untouched_links_and_files_without_room_stay() {
        let dir = tempfile::tempdir().unwrap();
        let hooks = dir.path().join("hooks");
        fs::create_dir(&hooks).unwrap();
        fs::write(hooks.join("large"), "true && true").unwrap();
        std::os::unix::fs::symlink("../shared-hook", hooks.join("linked")).unwrap();
        let mut before = BTreeMap::new();
        copy(&hooks, &mut before, &mut (4, 9));
        let mut said = Vec::new();
        compare(&hooks, &before, &dir.path().join("aside"), &mut said);
        assert!(said.is_empty(), "{said:?}");
        fs::remove_file(hooks.join("linked")).unwrap();
        std::os::unix::fs::symlink("../other-hook", hooks.join("linked")).unwrap();
        fs::remove_file(hooks.join("large")).unwrap();
        compare(&hooks, &before, &dir.path().join("aside"), &mut said);
        assert_eq!(said.len(), 3, "{said:?}");
    }
}
