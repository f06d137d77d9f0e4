//! Repositories that appear while a command runs, or that an earlier one created: what would run programs at the
//! user's next git command is moved aside. What existed before and hasn't changed stays.
#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FileType, lstat};

use super::backup;
use super::handles::{self, Identity, Stamp};
use super::set_aside;
use crate::sandbox::git::settings::{self, Owner};
use crate::sandbox::git_folders::{self, MAX_BYTES, with_modules};
use crate::sandbox::protected_paths::SKIPPED;
use crate::sandbox::spec::SandboxSpec;

/// Folders checked before a command, nearest to the workspace first, and new ones after it.
const MAX_FOLDERS: usize = 6_000;
const MAX_NEW: usize = 20_000;
const MAX_REPOSITORIES: usize = 256;
const CONFIGS: [&str; 2] = ["config", "config.worktree"];

#[derive(Debug, Default)]
struct Steering {
    hooks: BTreeMap<OsString, Stamp>,
    configs: BTreeMap<&'static str, Vec<u8>>,
    common: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub struct RepositoryWatch {
    trees: Vec<PathBuf>,
    roots: Vec<PathBuf>,
    kept: Option<PathBuf>,
    /// Their hooks and configuration are already protected.
    guarded: BTreeSet<PathBuf>,
    folders: BTreeMap<PathBuf, Stamp>,
    before: BTreeMap<PathBuf, Steering>,
    pointers: BTreeMap<PathBuf, Stamp>,
    /// In seconds since 1970, at most the command's start.
    began_s: i64,
}

#[derive(Default)]
struct Listing {
    folders: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
    /// `.git` files and links, which lead to a repository.
    pointers: Vec<PathBuf>,
}

impl RepositoryWatch {
    pub fn take(spec: &SandboxSpec) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let nested = spec.nested.iter().map(|git| git.0.clone());
        let hooks = spec.protected.iter().filter(|path| path.ends_with("hooks"));
        let mut watch = Self {
            trees: spec.rules_folders.iter().map(|path| path.0.clone()).collect(),
            roots: spec.writable.iter().map(|path| path.0.clone()).collect(),
            kept: spec.kept.as_ref().map(|kept| kept.0.clone()),
            guarded: hooks.filter_map(|path| path.parent().map(Path::to_owned)).chain(nested).collect(),
            began_s: i64::try_from(now).unwrap_or(0) - 1,
            ..Self::default()
        };
        if spec.writable.is_empty() {
            return watch;
        }
        let mut found = BTreeSet::new();
        let mut waiting = VecDeque::from(watch.trees.clone());
        while let Some(folder) = waiting.pop_front().filter(|_| watch.folders.len() < MAX_FOLDERS) {
            let Ok(stat) = lstat(&folder) else { continue };
            // Recorded before reading it, so that anything appearing in between counts as new.
            watch.folders.insert(folder.clone(), Stamp::of(&stat));
            if is_skipped(&folder) {
                continue;
            }
            let listing = watch.list(&folder);
            waiting.extend(listing.folders);
            found.extend(listing.repositories);
            for pointer in listing.pointers {
                if let Ok(stat) = lstat(&pointer) {
                    watch.pointers.insert(pointer, Stamp::of(&stat));
                }
            }
        }
        found.extend(watch.of_roots());
        for git in found.into_iter().filter(|git| !watch.guarded.contains(git)).take(MAX_REPOSITORIES) {
            let steering = watch.steering(&git);
            watch.before.insert(git, steering);
        }
        watch
    }

    fn list(&self, folder: &Path) -> Listing {
        let mut listing = Listing::default();
        let (mut head, mut objects, mut refs) = (false, false, false);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let name = entry.file_name();
            head |= name == "HEAD";
            objects |= name == "objects";
            refs |= name == "refs";
            match kind.is_dir() {
                true if name == ".git" => listing.repositories.extend(with_modules(&entry.path())),
                true => listing.folders.push(entry.path()),
                false if name == ".git" => listing.pointers.push(entry.path()),
                false => {}
            }
        }
        if head && objects && refs {
            listing.repositories.extend(with_modules(folder));
        }
        listing
    }

    /// The target of a `.git` file or link, if a command could have created that.
    fn pointed(&self, pointer: &Path) -> Option<PathBuf> {
        let folder = pointer.parent()?;
        let target = match git_folders::read(pointer) {
            Some(text) => folder.join(text.strip_prefix("gitdir:")?.trim()),
            None => pointer.to_owned(),
        };
        target.canonicalize().ok().filter(|real| real.is_dir() && self.root_of(real).is_some())
    }

    /// The submodules and worktrees of the folders' own repositories.
    fn of_roots(&self) -> Vec<PathBuf> {
        let is_tree = |root: &PathBuf| self.trees.contains(root);
        let own = self.roots.iter().map(|root| if is_tree(root) { root.join(".git") } else { root.clone() });
        own.flat_map(|git| with_modules(&git).into_iter().chain(git_folders::worktrees(&git))).collect()
    }

    fn root_of(&self, path: &Path) -> Option<&PathBuf> {
        self.roots.iter().find(|root| path.starts_with(root))
    }

    fn open(&self, folder: &Path) -> Option<OwnedFd> {
        let root = self.root_of(folder)?;
        let handle = handles::absolute(root).ok()?;
        Some(handles::below(&handle, folder.strip_prefix(root).ok()?).ok()?.0)
    }

    fn steering(&self, git: &Path) -> Steering {
        let Some(folder) = self.open(git) else { return Steering::default() };
        let read = |name: &str| handles::read(&folder, OsStr::new(name), MAX_BYTES).map(|(bytes, _)| bytes);
        let configs = CONFIGS.into_iter().filter_map(|name| Some((name, read(name)?))).collect();
        let hooks = handles::below(&folder, Path::new("hooks")).map_or_else(
            |_| BTreeMap::new(),
            |(hooks, _)| {
                handles::names(&hooks)
                    .into_iter()
                    .filter_map(|name| Some((name.clone(), Stamp::of(&handles::look(&hooks, &name)?))))
                    .collect()
            },
        );
        Steering { hooks, configs, common: read("commondir") }
    }

    /// Moves away anything new that would run programs; returns a sentence for the user about each.
    pub fn restore(&self) -> Vec<String> {
        let mut found: BTreeSet<PathBuf> = self.before.keys().cloned().chain(self.of_roots()).collect();
        let new = self.new_repositories();
        found.extend(new.repositories);
        let none = Steering::default();
        let mut notices = Vec::new();
        for git in found.iter().filter(|git| !self.guarded.contains(*git)).take(MAX_REPOSITORIES) {
            let Some(folder) = self.open(git) else { continue };
            let before = self.before.get(git).unwrap_or(&none);
            self.hooks(git, &folder, before, &mut notices);
            CONFIGS.iter().for_each(|name| self.config(git, &folder, name, before, &mut notices));
            self.common(git, &folder, before, &mut notices);
        }
        for pointer in self.pointers.keys().chain(&new.pointers) {
            notices.extend(self.pointer(pointer, &found));
        }
        notices
    }

    fn new_repositories(&self) -> Listing {
        let (mut found, mut left) = (Listing::default(), MAX_NEW);
        let mut waiting: Vec<PathBuf> = Vec::new();
        let is_new = |path: &PathBuf| !self.folders.contains_key(path);
        for (folder, before) in &self.folders {
            let Ok(stat) = lstat(folder) else { continue };
            if handles::kind(&stat) != FileType::Directory || Stamp::of(&stat) == *before {
                continue;
            }
            let listing = self.list(folder);
            found.repositories.extend(listing.repositories);
            found.pointers.extend(listing.pointers);
            // Install and build folders have many old subfolders that don't matter.
            let fresh = |path: &PathBuf| {
                !is_skipped(folder) || lstat(path).is_ok_and(|stat| stat.st_ctime >= self.began_s)
            };
            waiting.extend(listing.folders.into_iter().filter(is_new).filter(fresh));
        }
        while let Some(folder) = waiting.pop().filter(|_| left > 0) {
            left -= 1;
            let listing = self.list(&folder);
            found.repositories.extend(listing.repositories);
            found.pointers.extend(listing.pointers);
            waiting.extend(listing.folders.into_iter().filter(is_new));
        }
        found
    }

    /// Moves a new pointer away if its target wasn't checked; the target stays.
    fn pointer(&self, pointer: &Path, found: &BTreeSet<PathBuf>) -> Option<String> {
        let stat = lstat(pointer).ok()?;
        let target = self.pointed(pointer).filter(|target| !found.contains(target))?;
        if self.guarded.contains(&target) || self.pointers.get(pointer) == Some(&Stamp::of(&stat)) {
            return None;
        }
        let steering = self.steering(&target);
        let runs = steering.hooks.keys().any(|name| !name.to_string_lossy().ends_with(".sample"));
        let set = |bytes: &Vec<u8>| {
            !settings::harmful(b"", bytes, Owner::Command).is_some_and(|all| all.is_empty())
        };
        if !runs && steering.common.is_none() && !steering.configs.values().any(set) {
            return None;
        }
        self.away(&self.open(pointer.parent()?)?, pointer.file_name()?, pointer)
    }

    fn away(&self, folder: &OwnedFd, name: &OsStr, path: &Path) -> Option<String> {
        let stat = handles::look(folder, name)?;
        Some(set_aside::move_away(folder, name, Identity::of(&stat), path, self.kept.as_deref()))
    }

    fn hooks(&self, git: &Path, folder: &OwnedFd, before: &Steering, notices: &mut Vec<String>) {
        let path = git.join("hooks");
        let Some(stat) = handles::look(folder, OsStr::new("hooks")) else { return };
        if handles::kind(&stat) == FileType::Symlink {
            let known = self.before.contains_key(git) && before.hooks.is_empty();
            notices.extend((!known).then(|| self.away(folder, OsStr::new("hooks"), &path)).flatten());
            return;
        }
        let Ok((hooks, _)) = handles::below(folder, Path::new("hooks")) else { return };
        for name in handles::names(&hooks) {
            let Some(stat) = handles::look(&hooks, &name) else { continue };
            let runs = handles::kind(&stat) != FileType::RegularFile || stat.st_mode & 0o111 != 0;
            // git never runs its samples.
            if runs
                && !name.to_string_lossy().ends_with(".sample")
                && before.hooks.get(&name) != Some(&Stamp::of(&stat))
            {
                notices.extend(self.away(&hooks, &name, &path.join(&name)));
            }
        }
    }

    fn config(&self, git: &Path, folder: &OwnedFd, name: &str, before: &Steering, notices: &mut Vec<String>) {
        let (path, file) = (git.join(name), OsStr::new(name));
        if handles::look(folder, file).is_none() {
            return;
        }
        let Some((bytes, mode)) = handles::read(folder, file, MAX_BYTES) else {
            notices.extend(self.away(folder, file, &path));
            return;
        };
        let old = before.configs.get(name).map_or(&b""[..], Vec::as_slice);
        if bytes == old {
            return;
        }
        let harmful = settings::harmful(old, &bytes, Owner::Command);
        if harmful.as_ref().is_some_and(Vec::is_empty) {
            return;
        }
        let harmful = harmful.unwrap_or_default();
        notices.extend(self.away(folder, file, &path));
        let kept = settings::parsed(&bytes).unwrap_or_default();
        let kept: Vec<_> = kept.into_iter().filter(|one| !harmful.contains(one)).collect();
        if backup::write_back(folder, file, settings::written(&kept).as_bytes(), mode).is_ok() {
            let mut names: Vec<&str> = harmful.iter().map(|(name, _)| name.as_str()).collect();
            names.dedup();
            notices.push(format!(
                "{} was put back without {}: the command set it, and it can run programs when you use git there",
                path.display(),
                if names.is_empty() { "what git does not understand".to_owned() } else { names.join(", ") }
            ));
        }
    }

    /// A worktree must name the repository that contains it.
    fn common(&self, git: &Path, folder: &OwnedFd, before: &Steering, notices: &mut Vec<String>) {
        let name = OsStr::new("commondir");
        let Some((bytes, _)) = handles::read(folder, name, MAX_BYTES) else { return };
        let own = || {
            let common = git.join(String::from_utf8_lossy(&bytes).trim()).canonicalize().ok()?;
            Some(git.parent()?.file_name()? == "worktrees" && git.parent()?.parent()? == common)
        };
        if before.common.as_ref() != Some(&bytes) && own() != Some(true) {
            notices.extend(self.away(folder, name, &git.join(name)));
        }
    }
}

fn is_skipped(folder: &Path) -> bool {
    folder.file_name().is_some_and(|name| SKIPPED.iter().any(|skipped| name == *skipped))
}
