//! The file tree that a confined command sees: everything read-only, the workspace writable, secrets and sockets gone,
//! `/tmp`, `/dev` and `/proc` of its own. Runs as the first process of fresh namespaces, and fails rather than leave a gap.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree,
};

use sha2::{Digest, Sha256};

use super::system::{self, NODEV, NOSUID, RDONLY};
use crate::sandbox::spec::{RawPath, SandboxSpec};

/// Programs find these in every `/dev`.
const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "fd/0"),
    ("stdout", "fd/1"),
    ("stderr", "fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// In `/proc`: what changes the machine.
const PROC_READ_ONLY: &[&str] = &["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"];

/// Commands of one session that write to build caches at the same time; in more, caches are read-only.
const MAX_CACHE_FOLDERS: usize = 64;

/// What could not be done, for people.
#[derive(Debug)]
pub struct MountError(pub String);

fn trouble(what: impl std::fmt::Display) -> impl FnOnce(Errno) -> MountError {
    move |error| MountError(format!("{what}: {}", io::Error::from(error)))
}

fn io_trouble(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> MountError {
    move |error| MountError(format!("{what}: {error}"))
}

/// One change of the tree at one path.
enum MountStep {
    /// A prepared mount goes there.
    Place(OwnedFd),
    /// An empty read-only folder.
    Blank,
    /// An empty unreadable file.
    BlankFile,
    /// The same again, so that it cannot be moved away; or, when fixed, so that it cannot be changed.
    Again { fixed: bool },
}

/// The first kernel that counts processes' numbers for each namespace: an older one would take the limit for the whole
/// machine.
const COUNTS_ALONE: (u32, u32) = (6, 14);

/// Builds the tree. `held` and `pinned` are what the guard found, `sockets` are hidden.
///
/// # Errors
/// The first thing that could not be done; the command must not run then.
pub fn build(
    plan: &SandboxSpec,
    held: &[PathBuf],
    pinned: &[PathBuf],
    sockets: &BTreeSet<PathBuf>,
    caches: Option<&CacheFolder>,
) -> Result<(), MountError> {
    let top = open(Path::new("/")).map_err(trouble("/"))?;
    system::make_private(top.as_fd()).map_err(io_trouble("mounts cannot be made private"))?;
    let mut steps: Vec<(PathBuf, MountStep)> = Vec::new();
    // Taken before the tree becomes read-only.
    for RawPath(path) in &plan.writable {
        steps.push((path.clone(), MountStep::Place(copy(path).map_err(trouble(path.display()))?)));
    }
    for RawPath(path) in plan.kept.iter().filter(|path| !plan.writable.contains(path)) {
        let mount = copy(path).map_err(trouble(path.display()))?;
        system::restrict(mount.as_fd(), RDONLY | NOSUID | NODEV, true).map_err(io_trouble(path.display()))?;
        steps.push((path.clone(), MountStep::Place(mount)));
    }
    let scratch = plan.private.join("tmp");
    for RawPath(path) in &plan.scratch {
        steps.push((path.clone(), MountStep::Place(copy(&scratch).map_err(trouble(scratch.display()))?)));
    }
    for (RawPath(path), writes) in plan.caches.iter().flat_map(|path| caches.map(|caches| (path, caches))) {
        // A file system that cannot be layered stays read-only.
        if let Ok(mount) = layered(plan, path, writes) {
            steps.push((path.clone(), MountStep::Place(mount)));
        }
    }
    steps.extend(plan.blank.iter().map(|path| (path.0.clone(), MountStep::Blank)));
    steps.extend(plan.blank_files.iter().map(|path| (path.0.clone(), MountStep::BlankFile)));
    steps.extend(sockets.iter().map(|path| (path.clone(), MountStep::BlankFile)));
    let empty = nothing().map_err(trouble("an empty file"))?;
    steps.extend(pinned.iter().map(|path| (path.clone(), MountStep::Again { fixed: false })));
    steps.extend(held.iter().map(|path| (path.clone(), MountStep::Again { fixed: true })));
    let devices = devices()?;

    let all =
        if plan.writable.iter().any(|path| path.0 == Path::new("/")) { NOSUID } else { RDONLY | NOSUID };
    system::restrict(top.as_fd(), all, true).map_err(io_trouble("the tree cannot be made read-only"))?;
    let top = open(Path::new("/")).map_err(trouble("/"))?;
    system::restrict(top.as_fd(), NODEV, true).map_err(io_trouble("devices cannot be shut off"))?;

    // Outer folders first; where one path is pinned and held, held wins.
    steps.sort_by_key(|(path, _)| path.components().count());
    let mut emptied: Vec<OwnedFd> = Vec::new();
    for (path, step) in steps {
        if path == Path::new("/") {
            continue;
        }
        apply(plan, &path, step, &empty, &mut emptied)?;
    }
    for mount in emptied {
        system::restrict(mount.as_fd(), RDONLY, false).map_err(io_trouble("an emptied folder"))?;
    }
    place_devices(&devices)?;
    proc(plan)
}

fn open(path: &Path) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// A detached copy of the mounts at `path` and below.
fn copy(path: &Path) -> Result<OwnedFd, Errno> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(CWD, path, flags | OpenTreeFlags::AT_SYMLINK_NOFOLLOW)
}

/// The same for something that is open.
fn copy_of(fd: BorrowedFd) -> Result<OwnedFd, Errno> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    open_tree(fd, "", flags | OpenTreeFlags::AT_EMPTY_PATH)
}

fn place(mount: &OwnedFd, target: BorrowedFd) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", target, "", flags)
}

/// A detached empty file system in memory.
fn memory(size: &str, mode: &str) -> Result<OwnedFd, Errno> {
    let fs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(fs.as_fd(), "size", size)?;
    fsconfig_set_string(fs.as_fd(), "mode", mode)?;
    fsconfig_create(fs.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    fsmount(fs.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// The folder for what a command writes into build caches. Two overlay mounts must never share one, so each of the
/// commands that run at the same time has its own; the first that is free is taken, so that a command finds what an
/// earlier one has cached.
pub struct CacheFolder {
    path: PathBuf,
    /// Locked until the command has ended.
    _lock: fs::File,
}

impl CacheFolder {
    /// Takes a free one in the session's private folder; `None` when there is none.
    pub fn take(private: &Path) -> Option<Self> {
        (0..MAX_CACHE_FOLDERS).find_map(|number| {
            let path = private.join("cache").join(number.to_string());
            fs::create_dir_all(&path).ok()?;
            let lock = fs::File::create(path.join("lock")).ok()?;
            lock.try_lock().ok()?;
            Some(Self { path, _lock: lock })
        })
    }
}

/// A detached mount that shows `path`; what is written to it goes to the private folder.
fn layered(plan: &SandboxSpec, path: &Path, writes: &CacheFolder) -> io::Result<OwnedFd> {
    let folder = writes.path.join(cache_name(path));
    let (upper, work) = (folder.join("upper"), folder.join("work"));
    fs::create_dir_all(&upper)?;
    fs::create_dir_all(&work)?;
    let parts = [("lowerdir", path), ("upperdir", upper.as_path()), ("workdir", work.as_path())];
    for (_, value) in parts {
        if value.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b':' | b'\\' | b',')) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
    }
    // Nothing of it outlives the session, so the disk need not have it when the command ends; that wait costs more than
    // all else. The mark is for those who would count on what a crash left.
    let _ = fs::remove_dir_all(work.join("work/incompat"));
    overlay(plan, &parts, true).or_else(|_| overlay(plan, &parts, false))
}

/// `hasty` never waits for the disk; kernels before 5.10 cannot.
fn overlay(plan: &SandboxSpec, parts: &[(&str, &Path)], hasty: bool) -> io::Result<OwnedFd> {
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in parts {
        fsconfig_set_string(fs.as_fd(), *key, *value)?;
    }
    if hasty {
        fsconfig_set_flag(fs.as_fd(), "volatile")?;
    }
    if plan.layers.user_namespace {
        fsconfig_set_flag(fs.as_fd(), "userxattr")?;
    }
    fsconfig_create(fs.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(fs.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// The same for the same folder in each command of a session.
fn cache_name(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
    digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// What is seen in place of each hidden file or folder, and the mount that it is on, without which it could not be copied.
struct EmptyFiles {
    file: OwnedFd,
    folder: OwnedFd,
    _mount: OwnedFd,
}

fn nothing() -> Result<EmptyFiles, Errno> {
    let mount = memory("4k", "755")?;
    let flags = OFlags::CREATE | OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&mount, "empty", flags, Mode::from_raw_mode(0o444))?;
    rustix::fs::mkdirat(&mount, "folder", Mode::from_raw_mode(0o755))?;
    let folder = rustix::fs::openat(&mount, "folder", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    Ok(EmptyFiles { file, folder, _mount: mount })
}

fn apply(
    plan: &SandboxSpec,
    path: &Path,
    step: MountStep,
    empty: &EmptyFiles,
    emptied: &mut Vec<OwnedFd>,
) -> Result<(), MountError> {
    let what = path.display();
    match step {
        MountStep::Place(mount) => {
            let target = match open(path) {
                Ok(target) => target,
                // It lies in a folder that was emptied.
                Err(_) => mount_point(path, &mount).map_err(io_trouble(&what))?,
            };
            place(&mount, target.as_fd()).map_err(trouble(&what))
        }
        MountStep::Blank => {
            let Some(target) = visible(path)? else { return Ok(()) };
            let shown = [&plan.kept, &plan.writable, &plan.scratch, &plan.caches];
            if !shown.iter().any(|list| list.iter().any(|inside| inside.starts_with(path))) {
                let copied = copy_of(empty.folder.as_fd()).map_err(trouble(&what))?;
                system::restrict(copied.as_fd(), RDONLY, true).map_err(io_trouble(&what))?;
                return place(&copied, target.as_fd()).map_err(trouble(&what));
            }
            // What is seen in it all the same needs a place.
            let mount = memory("1m", "755").map_err(trouble(&what))?;
            place(&mount, target.as_fd()).map_err(trouble(&what))?;
            emptied.push(mount);
            Ok(())
        }
        MountStep::BlankFile => {
            let Some(target) = visible(path)? else { return Ok(()) };
            let copied = copy_of(empty.file.as_fd()).map_err(trouble(&what))?;
            system::restrict(copied.as_fd(), RDONLY, true).map_err(io_trouble(&what))?;
            place(&copied, target.as_fd()).map_err(trouble(&what))
        }
        MountStep::Again { fixed } => {
            let Some(target) = beneath(plan, path)? else { return Ok(()) };
            let again = copy_of(target.as_fd()).map_err(trouble(&what))?;
            if fixed {
                system::restrict(again.as_fd(), RDONLY, true).map_err(io_trouble(&what))?;
            }
            place(&again, target.as_fd()).map_err(trouble(&what))
        }
    }
}

/// What is to be hidden, unless something else has hidden it, or the user cannot reach it anyway.
fn visible(path: &Path) -> Result<Option<OwnedFd>, MountError> {
    match open(path) {
        Ok(target) => Ok(Some(target)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(None),
        Err(error) => Err(trouble(path.display())(error)),
    }
}

/// A path in a writable folder, opened without following links: what runs there may have changed it meanwhile.
fn beneath(plan: &SandboxSpec, path: &Path) -> Result<Option<OwnedFd>, MountError> {
    let root = plan
        .writable
        .iter()
        .filter(|root| path.starts_with(root))
        .max_by_key(|root| root.components().count());
    let Some(root) = root else { return Ok(None) };
    let rest = path.strip_prefix(root).unwrap_or(path);
    let top = open(root).map_err(trouble(root.display()))?;
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(&top, rest, flags, Mode::empty(), how) {
        Ok(target) => Ok(Some(target)),
        // Gone since the guard looked; it will look again.
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(trouble(path.display())(error)),
    }
}

/// Makes an empty file or folder at which `mount` can be placed.
fn mount_point(path: &Path, mount: &OwnedFd) -> io::Result<OwnedFd> {
    let is_dir = fs::File::from(mount.try_clone()?).metadata()?.is_dir();
    if is_dir {
        fs::create_dir_all(path)?;
    } else {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    }
    Ok(open(path)?)
}

/// Copies of the few devices that every program may use.
fn devices() -> Result<Vec<(&'static str, OwnedFd)>, MountError> {
    let found = DEVICES.iter().filter_map(|name| Some((*name, copy(&Path::new("/dev").join(name)).ok()?)));
    let found: Vec<_> = found.collect();
    if found.iter().any(|(name, _)| *name == "null") {
        Ok(found)
    } else {
        Err(MountError("/dev/null cannot be used".to_owned()))
    }
}

fn place_devices(devices: &[(&str, OwnedFd)]) -> Result<(), MountError> {
    let say = |error: io::Error| MountError(format!("/dev: {error}"));
    let dev = memory("1m", "755").map_err(trouble("/dev"))?;
    let target = open(Path::new("/dev")).map_err(trouble("/dev"))?;
    place(&dev, target.as_fd()).map_err(trouble("/dev"))?;
    for (name, device) in devices {
        let point = Path::new("/dev").join(name);
        fs::File::create(&point).map_err(say)?;
        let point = open(&point).map_err(trouble("/dev"))?;
        place(device, point.as_fd()).map_err(trouble("/dev"))?;
    }
    for (name, to) in LINKS {
        std::os::unix::fs::symlink(to, Path::new("/dev").join(name)).map_err(say)?;
    }
    for folder in ["/dev/shm", "/dev/pts", "/dev/mqueue"] {
        fs::create_dir(folder).map_err(say)?;
    }
    let shared = memory("50%", "1777").map_err(trouble("/dev/shm"))?;
    let target = open(Path::new("/dev/shm")).map_err(trouble("/dev/shm"))?;
    place(&shared, target.as_fd()).map_err(trouble("/dev/shm"))?;
    // Programs that make terminals of their own find none where this is refused; nothing else needs it.
    let _ = system::mount("devpts", Path::new("/dev/pts"), "newinstance,ptmxmode=0666,mode=0620");
    system::restrict(dev.as_fd(), RDONLY, false).map_err(say)
}

fn proc(plan: &SandboxSpec) -> Result<(), MountError> {
    let proc = Path::new("/proc");
    if plan.layers.fresh_proc {
        system::mount("proc", proc, "").map_err(io_trouble("/proc"))?;
        if system::kernel_version().is_some_and(|version| version >= COUNTS_ALONE) {
            // No other limit holds for root. Where it is refused, the limit by user is left.
            let _ = fs::write("/proc/sys/kernel/pid_max", system::MAX_PROCESSES.to_string());
        }
    } else if !plan.layers.landlock {
        // Others' processes would be a way out: their root folders, their environments.
        let mount = memory("4k", "755").map_err(trouble("/proc"))?;
        let target = open(proc).map_err(trouble("/proc"))?;
        return place(&mount, target.as_fd()).map_err(trouble("/proc"));
    }
    for name in PROC_READ_ONLY {
        let path = proc.join(name);
        let Ok(target) = open(&path) else { continue };
        let again = copy_of(target.as_fd()).map_err(trouble(path.display()))?;
        system::restrict(again.as_fd(), RDONLY, true).map_err(io_trouble(path.display()))?;
        place(&again, target.as_fd()).map_err(trouble(path.display()))?;
    }
    Ok(())
}
