//! Protects what no mount can: protected names that don't exist yet, protected links, and without mounts all
//! contents. Compares the state before and after a command through handles below the workspace's own.
//! Nothing is deleted: what the command made is moved aside, and what the user made in the meantime stays.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, readlinkat, symlinkat};
use rustix::io::Errno;

use super::backup::{Backup, Budget, is_opened, write_back};
use super::handles::{self, Identity};
use super::repositories::RepositoryWatch;
use super::set_aside;
use super::witness::Evidence;
use crate::sandbox::git::settings::{self, Owner};
use crate::sandbox::git_folders::MAX_BYTES;
use crate::sandbox::protected_paths::{IN_GIT, is_rules_file};
use crate::sandbox::spec::{RawPath, SandboxSpec};

#[derive(Debug)]
enum PriorState {
    /// The first missing part of its path, and the folder that lacked it.
    Absent(PathBuf, Identity),
    /// Its target, and the folder it is in.
    Link(OsString, Identity),
    ReadOnly,
    Git(Identity),
    Copied(Backup),
    /// git configuration that may get harmless settings: content and mode.
    Settings(Vec<u8>, u32),
}

#[derive(Debug)]
struct Root {
    path: PathBuf,
    handle: OwnedFd,
}

#[derive(Debug)]
struct Protected {
    path: PathBuf,
    before: PriorState,
}

#[derive(Debug, Default)]
pub struct ProtectedFiles {
    kept: Option<PathBuf>,
    opened: Vec<PathBuf>,
    roots: Vec<Root>,
    before: Vec<Protected>,
    /// By folder: the rules files that existed, in any case.
    rules: Vec<(PathBuf, Option<Identity>, BTreeSet<OsString>)>,
    repositories: RepositoryWatch,
    /// Existing paths to be mounted read-only.
    pub read_only: Vec<PathBuf>,
    /// Their parent folders, which must not be moved away.
    pub pinned: Vec<PathBuf>,
}

impl ProtectedFiles {
    /// With `mounts`, existing paths will be mounted read-only.
    pub fn take(spec: &SandboxSpec, mounts: bool) -> Self {
        let open =
            |path: &RawPath| Some(Root { path: path.0.clone(), handle: handles::absolute(path).ok()? });
        let mut snapshot = Self {
            kept: spec.kept.as_ref().map(|kept| kept.0.clone()),
            opened: spec.opened.iter().map(|path| path.0.clone()).collect(),
            roots: spec.writable.iter().filter_map(open).collect(),
            repositories: RepositoryWatch::take(spec),
            ..Self::default()
        };
        let mut protected: BTreeSet<PathBuf> = spec.protected.iter().map(|path| path.0.clone()).collect();
        for RawPath(folder) in &spec.rules_folders {
            let opened = snapshot.open(folder).ok();
            let names = opened.as_ref().map(|(handle, _)| rules_files(handle)).unwrap_or_default();
            protected.extend(names.iter().map(|name| folder.join(name)));
            snapshot.rules.push((folder.clone(), opened.map(|(_, identity)| identity), names));
        }
        let mut budget = Budget::WHOLE;
        if !mounts {
            // Without mounts, nothing pins these.
            let folders: BTreeSet<PathBuf> =
                protected.iter().filter_map(|path| git_folder(path)).map(Path::to_owned).collect();
            folders.iter().for_each(|folder| snapshot.remember_git(folder));
        }
        for path in protected {
            let Some(around) = snapshot.root_of(&path).map(|root| root.path.clone()) else { continue };
            let opened = is_opened(&snapshot.opened, &path);
            let before = match snapshot.settings(&path) {
                Some(before) => before,
                None => snapshot.look(&path, &around, mounts && !opened, &mut budget),
            };
            if !(opened && matches!(before, PriorState::Absent(..))) {
                snapshot.before.push(Protected { path, before });
            }
        }
        for RawPath(git) in &spec.nested {
            snapshot.look_below(git, mounts, &mut budget);
        }
        snapshot.pinned.sort();
        snapshot.pinned.dedup();
        snapshot
    }

    pub fn paths(&self) -> BTreeSet<PathBuf> {
        self.before.iter().map(|protected| protected.path.clone()).collect()
    }

    fn root_of(&self, path: &Path) -> Option<&Root> {
        self.roots.iter().find(|root| path.starts_with(&root.path))
    }

    fn open(&self, folder: &Path) -> io::Result<(OwnedFd, Identity)> {
        let Root { path, handle } = self.root_of(folder).ok_or(io::ErrorKind::NotFound)?;
        handles::below(handle, folder.strip_prefix(path).unwrap_or(folder))
    }

    /// Parent folders of the path, up to `pins_to`, must not be moved.
    fn look(&mut self, path: &Path, pins_to: &Path, mounts: bool, budget: &mut Budget) -> PriorState {
        let Some(top) = self.root_of(path).map(|root| root.path.clone()) else { return PriorState::ReadOnly };
        let steps: Vec<&Path> = path.ancestors().take_while(|step| *step != top).collect();
        for step in steps.into_iter().rev() {
            let (Some(parent), Some(name)) = (step.parent(), step.file_name()) else { break };
            let Ok((folder, identity)) = self.open(parent) else { return PriorState::ReadOnly };
            let Some(stat) = handles::look(&folder, name) else {
                return PriorState::Absent(step.to_owned(), identity);
            };
            if handles::kind(&stat) == FileType::Symlink {
                // The link itself can be replaced, but its target can be mounted read-only.
                let target =
                    fs::canonicalize(path).ok().filter(|real| real.starts_with(&top) && *real != top);
                if let Some(real) = target.filter(|_| mounts) {
                    self.mount_read_only(&real, &top);
                }
                if let Ok(target) = readlinkat(&folder, name, Vec::new()) {
                    let before = PriorState::Link(OsString::from_vec(target.into_bytes()), identity);
                    self.before.push(Protected { path: step.to_owned(), before });
                }
                return PriorState::ReadOnly;
            }
        }
        if mounts {
            self.mount_read_only(path, pins_to);
            return PriorState::ReadOnly;
        }
        let copy = |root: &Root| Backup::take(&root.handle, path.strip_prefix(&top).unwrap_or(path), budget);
        self.root_of(path).and_then(copy).map_or(PriorState::ReadOnly, PriorState::Copied)
    }

    /// A repository below the workspace. Only its own folder is pinned, so that project files above stay movable.
    fn look_below(&mut self, git: &Path, mounts: bool, budget: &mut Budget) {
        let around = git.parent().and_then(Path::parent);
        let (Ok(meta), Some(around)) = (fs::symlink_metadata(git), around) else { return };
        if self.root_of(git).is_none() {
            return;
        }
        self.remember_git(git);
        let names: Vec<PathBuf> = match meta.is_dir() {
            true => IN_GIT.iter().map(|name| git.join(name)).collect(),
            false => vec![git.to_owned()],
        };
        for path in names {
            let settings = self.settings(&path);
            let before = settings.unwrap_or_else(|| self.look(&path, around, mounts, budget));
            self.before.push(Protected { path, before });
        }
    }

    fn settings(&self, path: &Path) -> Option<PriorState> {
        let name = path.file_name().filter(|name| *name == "config" || *name == "config.worktree")?;
        if !self.opened.iter().any(|open| open == path) {
            return None;
        }
        let (folder, _) = self.open(path.parent()?).ok()?;
        match handles::look(&folder, name) {
            None => Some(PriorState::Settings(Vec::new(), 0o644)),
            Some(_) => {
                handles::read(&folder, name, MAX_BYTES).map(|(bytes, mode)| PriorState::Settings(bytes, mode))
            }
        }
    }

    /// Restores the configuration if settings were added that can run programs.
    fn check_settings(&self, path: &Path, before: &[u8], mode: u32, notices: &mut Vec<String>) {
        let Some((folder, name)) = self.parent(path, None, notices) else { return };
        let Some((_, seen)) = found(&folder, path) else {
            if !before.is_empty() && write_back(&folder, name, before, mode).is_ok() {
                notices.push(format!("{} is protected and was restored", path.display()));
            }
            return;
        };
        let now = handles::read(&folder, name, MAX_BYTES).map(|(bytes, _)| bytes);
        let harmful = now.as_deref().and_then(|now| match now == before {
            true => Some(Vec::new()),
            false => settings::harmful(before, now, Owner::User),
        });
        if harmful.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        notices.push(self.move_away(&folder, name, seen, path));
        if !before.is_empty() && write_back(&folder, name, before, mode).is_ok() {
            let names: Vec<String> = harmful.unwrap_or_default().into_iter().map(|(name, _)| name).collect();
            notices.push(format!(
                "{} was restored: the command set {} in it",
                path.display(),
                names.join(", ")
            ));
        }
    }

    fn remember_git(&mut self, git: &Path) {
        let (Some(parent), Some(name)) = (git.parent(), git.file_name()) else { return };
        let Ok((folder, _)) = self.open(parent) else { return };
        let stat = handles::look(&folder, name).filter(|stat| handles::kind(stat) != FileType::Symlink);
        if let Some(stat) = stat {
            let before = PriorState::Git(Identity::of(&stat));
            self.before.push(Protected { path: git.to_owned(), before });
        }
    }

    fn mount_read_only(&mut self, path: &Path, root: &Path) {
        self.read_only.push(path.to_owned());
        let between = path.ancestors().skip(1).take_while(|step| *step != root && step.starts_with(root));
        self.pinned.extend(between.map(Path::to_owned));
    }

    /// Undoes what the command changed; returns a sentence for the user about each change.
    pub fn restore(&self, evidence: &Evidence) -> Vec<String> {
        let mut notices = Vec::new();
        // A repository that was only moved belonged to the user before, so it doesn't count as planted.
        let git = |protected: &Protected| match protected.before {
            PriorState::Git(identity) => Some(identity),
            _ => None,
        };
        let known: BTreeSet<Identity> = self.before.iter().filter_map(git).collect();
        for protected in &self.before {
            let Protected { path, before } = protected;
            match before {
                PriorState::ReadOnly => {}
                PriorState::Git(was) => {
                    let Some((folder, _)) = self.parent(path, None, &mut notices) else { continue };
                    let Some((name, now)) = found(&folder, path).filter(|(_, now)| now != was) else {
                        continue;
                    };
                    if !self.made(evidence, path) {
                        continue;
                    }
                    if known.contains(&now) {
                        notices.push(format!(
                            "{} is another repository now; it was left in place",
                            path.display()
                        ));
                    } else {
                        notices.push(self.move_away(&folder, name, now, path));
                    }
                }
                PriorState::Absent(first, lacked) => {
                    if self.made(evidence, path) {
                        self.look_for_new(path, first, *lacked, &mut notices);
                    }
                }
                PriorState::Link(target, around) => {
                    let Some((folder, name)) = self.parent(path, Some(*around), &mut notices) else {
                        continue;
                    };
                    let now = readlinkat(&folder, name, Vec::new());
                    if now.is_ok_and(|now| now.to_bytes() == target.as_encoded_bytes()) {
                        continue;
                    }
                    if !self.made(evidence, path) {
                        continue;
                    }
                    if let Some((_, seen)) = found(&folder, path) {
                        notices.push(self.move_away(&folder, name, seen, path));
                    }
                    // Fails if something is still there.
                    let _ = symlinkat(target, &folder, name);
                }
                PriorState::Settings(bytes, mode) => self.check_settings(path, bytes, *mode, &mut notices),
                PriorState::Copied(backup) => {
                    let Some(Root { path, handle }) = self.root_of(path) else { continue };
                    backup.restore(handle, path, self.kept.as_deref(), &self.opened, &mut notices);
                }
            }
        }
        for (folder, was, names) in &self.rules {
            let opened = self.open(folder).ok();
            let Some((handle, now)) = opened.filter(|(_, now)| Some(*now) == *was) else { continue };
            for name in rules_files(&handle).difference(names).filter(|name| evidence.made(now, name)) {
                let path = folder.join(name);
                if let Some((_, seen)) = found(&handle, &path).filter(|_| !is_opened(&self.opened, &path)) {
                    notices.push(self.move_away(&handle, name, seen, &path));
                }
            }
        }
        notices.extend(self.repositories.restore());
        notices.sort();
        notices.dedup();
        notices
    }

    /// The parent of `path`, and the name in it. `None`, with a notice, if it is gone or was replaced.
    fn parent<'a>(
        &self,
        path: &'a Path,
        seen: Option<Identity>,
        notices: &mut Vec<String>,
    ) -> Option<(OwnedFd, &'a OsStr)> {
        let (parent, name) = (path.parent()?, path.file_name()?);
        match self.open(parent) {
            Ok((folder, now)) if seen.is_none_or(|seen| seen == now) => return Some((folder, name)),
            Ok((folder, _)) => {
                handles::look(&folder, name)?;
            }
            Err(error) if Errno::from_io_error(&error) == Some(Errno::NOENT) => return None,
            Err(_) => {}
        }
        notices.push(format!(
            "{} was replaced while the command ran, and there are protected paths in it; nothing there was touched: look \
             at it before you use it",
            parent.display()
        ));
        None
    }

    fn look_for_new(&self, path: &Path, first: &Path, lacked: Identity, notices: &mut Vec<String>) {
        let Some((folder, name)) = self.parent(first, Some(lacked), notices) else { return };
        let Some(stat) = handles::look(&folder, name) else { return };
        let kind = handles::kind(&stat);
        // A link or a `.git` file leads to an unguarded place.
        if first == path || kind == FileType::Symlink || (kind != FileType::Directory && name == ".git") {
            if kind == FileType::Symlink || !harmless(&folder, path) {
                notices.push(self.move_away(&folder, name, Identity::of(&stat), first));
            }
            return;
        }
        let Some((folder, name)) = self.parent(path, None, notices) else { return };
        if let Some((_, seen)) = found(&folder, path)
            && !harmless(&folder, path)
        {
            notices.push(self.move_away(&folder, name, seen, path));
        }
    }

    /// Whether the command created it, or brought it along in a folder or link.
    fn made(&self, evidence: &Evidence, path: &Path) -> bool {
        let top = self.root_of(path).map(|root| root.path.as_path());
        path.ancestors().take_while(|step| Some(*step) != top).any(|step| {
            let (Some(parent), Some(name)) = (step.parent(), step.file_name()) else { return false };
            self.open(parent).is_ok_and(|(_, folder)| {
                evidence.brought(folder, name) || (step == path && evidence.made(folder, name))
            })
        })
    }

    fn move_away(&self, folder: &OwnedFd, name: &OsStr, seen: Identity, path: &Path) -> String {
        set_aside::move_away(folder, name, seen, path, self.kept.as_deref())
    }
}

fn found<'a>(folder: &OwnedFd, path: &'a Path) -> Option<(&'a OsStr, Identity)> {
    let name = path.file_name()?;
    handles::look(folder, name).map(|stat| (name, Identity::of(&stat)))
}

fn git_folder(path: &Path) -> Option<&Path> {
    path.ancestors().skip(1).find(|folder| folder.file_name().is_some_and(|name| name == ".git"))
}

fn rules_files(folder: &OwnedFd) -> BTreeSet<OsString> {
    handles::names(folder).into_iter().filter(|name| is_rules_file(name)).collect()
}

/// Whether something new in a git folder is only what `git init` and `git clone` put there.
fn harmless(folder: &OwnedFd, path: &Path) -> bool {
    let head = handles::look(folder, OsStr::new("HEAD"));
    let in_git = head.is_some_and(|stat| handles::kind(&stat) == FileType::RegularFile);
    let Some(name) = path.file_name().filter(|_| in_git) else { return false };
    match name.to_str() {
        Some("config") => handles::read(folder, name, MAX_BYTES)
            .and_then(|(bytes, _)| settings::harmful(b"", &bytes, Owner::Command))
            .is_some_and(|harmful| harmful.is_empty()),
        // git never runs its samples.
        Some("hooks") => handles::below(folder, Path::new(name)).is_ok_and(|(hooks, _)| {
            handles::names(&hooks).iter().all(|name| name.to_string_lossy().ends_with(".sample"))
        }),
        _ => false,
    }
}
