//! Landlock: rules on paths that need no mount. On top of mounts they are a second layer; alone they are the only one, and then
//! secrets are left out of what may be read, name by name.
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

/// The newest rights that are asked for; an older kernel holds those that it knows.
const NEWEST: ABI = ABI::V9;
/// Devices and such that everybody writes to.
const WRITABLE_DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx"];
const WRITABLE_FOLDERS: &[&str] = &["/dev/shm", "/dev/pts"];
/// Paths beyond this many are not opened one by one.
const MAX_RULES: usize = 20_000;

/// Puts the rules on this process and all that it starts.
pub fn restrict(spec: &SandboxSpec) -> Result<(), RulesetError> {
    let alone = !spec.layers.namespaces;
    let all = AccessFs::from_all(NEWEST);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::from_all(NEWEST))?;
    // A network of its own lets loopback work; without one the only way is to forbid all of it.
    if alone && !spec.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = ruleset.create()?;
    let read = AccessFs::from_read(NEWEST);
    if alone {
        let holes: BTreeSet<PathBuf> =
            spec.hidden_folders.iter().chain(&spec.hidden_files).map(|path| path.0.clone()).collect();
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
    let mut writable: Vec<PathBuf> = WRITABLE_FOLDERS.iter().map(PathBuf::from).collect();
    writable.extend(spec.writable.iter().map(|path| path.0.clone()));
    if alone {
        writable.push(spec.private.join("tmp"));
    } else {
        // What changes the machine is mounted read-only there.
        writable.extend(spec.layers.fresh_proc.then(|| PathBuf::from("/proc")));
        writable.extend(spec.temporary.iter().chain(&spec.caches).map(|path| path.0.clone()));
    }
    // A device node made there would open nothing (no capability makes one), and is not needed.
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

fn open(path: &Path) -> Option<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// The paths that together are `folder` without `holes`. Links are left out: what they lead to has its own rule.
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
