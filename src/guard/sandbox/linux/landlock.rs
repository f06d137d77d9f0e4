//! Landlock: path rules that need no mounts. With mounts they are a second layer. Alone they are the only one, and
//! secrets are excluded from the readable paths name by name.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{Mode, OFlags};

use crate::sandbox::spec::{RawPath, SandboxSpec};

/// The newest rights; an older kernel enforces those it knows.
const NEWEST: ABI = ABI::V9;
const WRITABLE_DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];
/// These also contain other programs' memory and terminals.
const SHARED_FOLDERS: &[&str] = &["/dev/shm", "/dev/pts"];
const MAX_RULES: usize = 20_000;

pub fn restrict(spec: &SandboxSpec) -> Result<(), RulesetError> {
    let alone = !spec.layers.namespaces;
    let all = AccessFs::from_all(NEWEST);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(NEWEST))?;
    // A network namespace has its own loopback; without one, the whole network must be forbidden.
    if alone && !spec.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = ruleset.create()?;
    let read = AccessFs::from_read(NEWEST);
    let shared: Vec<PathBuf> = SHARED_FOLDERS.iter().map(PathBuf::from).collect();
    let (taken, mut writable): (Vec<PathBuf>, Vec<PathBuf>) =
        shared.into_iter().partition(|folder| alone && is_taken(folder));
    if alone {
        let hidden = spec.hidden_folders.iter().chain(&spec.hidden_files).map(|path| path.0.clone());
        let holes: BTreeSet<PathBuf> = hidden.chain(taken).collect();
        rules = allow(rules, Path::new("/"), BitFlags::from(AccessFs::ReadDir))?;
        let mut left = MAX_RULES;
        for path in around(Path::new("/"), &holes, &mut left) {
            rules = allow(rules, &path, read)?;
        }
        for RawPath(path) in &spec.visible {
            rules = allow(rules, path, read)?;
        }
    } else {
        rules = allow(rules, Path::new("/"), read)?;
    }
    for path in WRITABLE_DEVICES {
        rules = allow(rules, Path::new(path), all)?;
    }
    writable.extend(spec.writable.iter().map(|path| path.0.clone()));
    if alone {
        writable.push(spec.private.join("tmp"));
    } else {
        // What could change the machine in `/proc` is mounted read-only.
        writable.extend(spec.layers.fresh_proc.then(|| PathBuf::from("/proc")));
        writable.extend(spec.temporary.iter().chain(&spec.caches).map(|path| path.0.clone()));
    }
    // No capability creates device nodes, so nothing needs the right to.
    let writes = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    for path in writable {
        rules = allow(rules, &path, writes)?;
    }
    rules.restrict_self().map(|_| ())
}

fn allow(
    rules: RulesetCreated,
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Some(file) = open(path) else { return Ok(rules) };
    let folder = rustix::fs::fstat(&file).is_ok_and(|meta| {
        rustix::fs::FileType::from_raw_mode(meta.st_mode) == rustix::fs::FileType::Directory
    });
    let rights = if folder { rights } else { rights & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(file, rights))
}

/// Whether it contains something of another program; if not, the command may use it.
fn is_taken(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name() != "ptmx"))
}

fn open(path: &Path) -> Option<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// The paths that together are `folder` without `holes`. Without links, whose targets have their own rules.
fn around(folder: &Path, holes: &BTreeSet<PathBuf>, left: &mut usize) -> Vec<PathBuf> {
    if holes.contains(folder) || *left == 0 {
        return Vec::new();
    }
    if !holes.iter().any(|hole| hole.starts_with(folder)) {
        *left -= 1;
        return vec![folder.to_owned()];
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let own = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    own.flat_map(|entry| around(&entry.path(), holes, left)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn around_a_hole() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a/deep", "b/keys", "b/other"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        let holes = BTreeSet::from([dir.path().join("b/keys")]);
        let mut found = around(dir.path(), &holes, &mut 100);
        found.sort();
        assert_eq!(found, [dir.path().join("a"), dir.path().join("b/other")]);
    }
}
