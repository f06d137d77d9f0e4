//! A confined command's file tree: everything read-only except the workspace, secrets and sockets hidden, its
//! own `/tmp`, `/dev`, `/proc`. Runs as the first process of new namespaces; fails rather than leave a gap.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fmt::Display;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change, move_mount,
    open_tree,
};
use rustix::thread::CapabilitySet;

use super::guard::protected_files::ProtectedFiles;
use super::system::{self, NODEV, NOSUID, RDONLY};
use crate::sandbox::private_folder::TMP;
use crate::sandbox::spec::{Masks, RawPath, SandboxSpec};
use base::file;

const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "fd/0"),
    ("stdout", "fd/1"),
    ("stderr", "fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Entries of `/proc` that can change the machine.
const PROC_READ_ONLY: &[&str] = &["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"];

/// Concurrent commands of a session that can write to build caches; for any others, caches are read-only.
const MAX_CACHE_FOLDERS: usize = 64;

fn at(what: impl Display) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{what}: {error}")
}

/// A change of the tree. `Bind` mounts a path on itself, so that it can't be moved (or changed).
enum MountStep {
    Mount(OwnedFd),
    HideFolder,
    HideFile,
    Bind { read_only: bool },
}

/// The first kernel with `pid_max` per namespace; in older ones the limit would be machine-wide.
const COUNTS_ALONE: (u32, u32) = (6, 14);

pub struct Outside {
    pub snapshot: ProtectedFiles,
    sockets: BTreeSet<PathBuf>,
    caches: Option<CacheFolder>,
}

impl Outside {
    pub fn find(spec: &SandboxSpec) -> Self {
        let mounts = spec.layers.namespaces;
        let snapshot = ProtectedFiles::take(spec, mounts);
        if !mounts {
            return Self { snapshot, sockets: BTreeSet::new(), caches: None };
        }
        let caches = if spec.caches.is_empty() { None } else { CacheFolder::take(&spec.private) };
        Self { snapshot, sockets: named_sockets(spec), caches }
    }
}

pub fn build(spec: &SandboxSpec, outside: &Outside) -> Result<(), String> {
    // Later mounts stay in this namespace, and outside mounts don't come in.
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(|error| at("mounts can't be made private")(error.into()))?;
    // Copies must be made before the tree becomes read-only.
    let mut steps: Vec<(PathBuf, MountStep)> = Vec::new();
    let mut add = |path: &Path, mount: io::Result<OwnedFd>| -> Result<(), String> {
        steps.push((path.to_owned(), MountStep::Mount(mount.map_err(at(path.display()))?)));
        Ok(())
    };
    for path in &spec.writable {
        add(path, copy(path))?;
    }
    for path in spec.visible.iter().filter(|path| !spec.writable.contains(path)) {
        let restrict =
            |mount: OwnedFd| system::restrict(mount.as_fd(), RDONLY | NOSUID | NODEV, true).map(|()| mount);
        add(path, copy(path).and_then(restrict))?;
    }
    for path in &spec.temporary {
        add(path, copy(&spec.private.join(TMP)))?;
    }
    for (path, writes) in
        spec.caches.iter().flat_map(|path| outside.caches.iter().map(move |writes| (path, writes)))
    {
        // A file system that can't be layered stays read-only.
        if let Ok(mount) = layered(spec, path, writes) {
            add(path, Ok(mount))?;
        }
    }
    let hidden_files = spec.hidden_files.iter().map(|path| &path.0).chain(&outside.sockets);
    steps.extend(spec.hidden_folders.iter().map(|path| (path.0.clone(), MountStep::HideFolder)));
    steps.extend(hidden_files.map(|path| (path.clone(), MountStep::HideFile)));
    steps.extend(
        outside.snapshot.pinned.iter().map(|path| (path.clone(), MountStep::Bind { read_only: false })),
    );
    steps.extend(
        outside.snapshot.read_only.iter().map(|path| (path.clone(), MountStep::Bind { read_only: true })),
    );
    let empty = Empty::new().map_err(at("an empty file"))?;
    let devices = devices().map_err(at("/dev"))?;
    restrict_all(spec).map_err(at("the file tree can't be made read-only"))?;
    // Mounted first, because the workspace may be in `/dev/shm`.
    mount_dev(&devices).map_err(at("/dev"))?;

    // Outer folders first; if a path is both pinned and read-only, read-only wins.
    steps.sort_by_key(|(path, _)| path.components().count());
    let mut filled: Vec<OwnedFd> = Vec::new();
    for (path, step) in steps.into_iter().filter(|(path, _)| path != Path::new("/")) {
        apply(spec, &path, step, &empty, &mut filled).map_err(at(path.display()))?;
    }
    for mount in filled {
        system::restrict(mount.as_fd(), RDONLY, false).map_err(at("a hidden folder"))?;
    }
    mount_proc(spec).map_err(at("/proc"))
}

/// Hides what rules deny, only for this process and its children. Gives up the capabilities that could undo it.
pub fn mask(masks: &Masks) -> Result<(), String> {
    system::unshare(libc::CLONE_NEWNS, masks.user_namespace).map_err(at("namespaces"))?;
    // Later mounts from outside must still appear.
    let follows = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", follows).map_err(|error| at("mounts")(error.into()))?;
    let empty = Empty::new().map_err(at("an empty file"))?;
    for RawPath(path) in &masks.read_only {
        let target = to_hide(path).map_err(at(path.display()))?;
        target.map_or(Ok(()), |target| bind(&target, &target, true)).map_err(at(path.display()))?;
    }
    for RawPath(path) in &masks.hidden {
        let closed = if path.is_dir() { &empty.closed_folder } else { &empty.closed_file };
        let target = to_hide(path).map_err(at(path.display()))?;
        target.map_or(Ok(()), |target| bind(closed, &target, true)).map_err(at(path.display()))?;
    }
    let undoing = CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_PTRACE;
    system::give_up(undoing).map_err(at("capabilities"))
}

fn restrict_all(spec: &SandboxSpec) -> io::Result<()> {
    let everything_writable = spec.writable.iter().any(|path| path.0 == Path::new("/"));
    let rights = if everything_writable { NOSUID } else { RDONLY | NOSUID };
    system::restrict(open(Path::new("/"))?.as_fd(), rights, true)?;
    system::restrict(open(Path::new("/"))?.as_fd(), NODEV, true)
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

const NO_SPECIAL_FILES: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);
const DETACHED: OpenTreeFlags =
    OpenTreeFlags::OPEN_TREE_CLONE.union(OpenTreeFlags::OPEN_TREE_CLOEXEC).union(OpenTreeFlags::AT_RECURSIVE);

fn copy(path: &Path) -> io::Result<OwnedFd> {
    Ok(open_tree(CWD, path, DETACHED | OpenTreeFlags::AT_SYMLINK_NOFOLLOW)?)
}

fn attach(mount: &OwnedFd, target: &OwnedFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(mount, "", target, "", flags)?)
}

fn memory(size: &str, mode: &str) -> io::Result<OwnedFd> {
    let fs = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(fs.as_fd(), "size", size)?;
    fsconfig_set_string(fs.as_fd(), "mode", mode)?;
    fsconfig_create(fs.as_fd())?;
    Ok(fsmount(fs.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, NO_SPECIAL_FILES)?)
}

/// For build caches. Overlay mounts must never share a folder, so each takes the first free one.
struct CacheFolder {
    path: PathBuf,
    _lock: fs::File,
}

impl CacheFolder {
    fn take(private: &Path) -> Option<Self> {
        (0..MAX_CACHE_FOLDERS).find_map(|number| {
            let path = private.join("cache").join(number.to_string());
            fs::create_dir_all(&path).ok()?;
            let lock = fs::File::create(path.join("lock")).ok()?;
            lock.try_lock().ok()?;
            Some(Self { path, _lock: lock })
        })
    }
}

/// Shows `path`, but writes go to the private folder.
fn layered(spec: &SandboxSpec, path: &Path, writes: &CacheFolder) -> io::Result<OwnedFd> {
    // The same name for each command of a session.
    let folder = writes.path.join(file::hash(path.as_os_str().as_encoded_bytes()));
    let (upper, work) = (folder.join("upper"), folder.join("work"));
    fs::create_dir_all(&upper)?;
    fs::create_dir_all(&work)?;
    let parts = [("lowerdir", path), ("upperdir", upper.as_path()), ("workdir", work.as_path())];
    for (_, value) in parts {
        if value.as_os_str().as_encoded_bytes().iter().any(|byte| matches!(byte, b':' | b'\\' | b',')) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
    }
    // Nothing outlives the session, so don't wait for the disk. Remove the crash marker of such a volatile mount.
    let _ = fs::remove_dir_all(work.join("work/incompat"));
    overlay(spec, &parts, true).or_else(|_| overlay(spec, &parts, false))
}

/// `hasty` never waits for the disk; kernels before 5.10 don't support it.
fn overlay(spec: &SandboxSpec, parts: &[(&str, &Path)], hasty: bool) -> io::Result<OwnedFd> {
    let fs = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in parts {
        fsconfig_set_string(fs.as_fd(), *key, *value)?;
    }
    if hasty {
        fsconfig_set_flag(fs.as_fd(), "volatile")?;
    }
    if spec.layers.user_namespace {
        fsconfig_set_flag(fs.as_fd(), "userxattr")?;
    }
    fsconfig_create(fs.as_fd())?;
    Ok(fsmount(fs.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, NO_SPECIAL_FILES)?)
}

/// Replacements for hidden files and folders, and their mount, without which they can't be copied.
struct Empty {
    file: OwnedFd,
    folder: OwnedFd,
    /// Used in the workspace, where git would take emptied files for changed or removed ones.
    closed_file: OwnedFd,
    closed_folder: OwnedFd,
    mount: OwnedFd,
}

impl Empty {
    fn new() -> io::Result<Self> {
        let mount = memory("4k", "755")?;
        let file = |name: &str, mode| {
            let flags = OFlags::CREATE | OFlags::RDONLY | OFlags::CLOEXEC;
            rustix::fs::openat(&mount, name, flags, Mode::from_raw_mode(mode))
        };
        let folder = |name: &str, mode| {
            rustix::fs::mkdirat(&mount, name, Mode::from_raw_mode(mode))?;
            rustix::fs::openat(&mount, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        };
        let empty = Self {
            file: file("empty", 0o444)?,
            folder: folder("folder", 0o755)?,
            closed_file: file("closed", 0)?,
            closed_folder: folder("closed-folder", 0)?,
            mount,
        };
        // Root may read every file whose owner exists, whatever its mode. Older kernels don't support this.
        if rustix::process::geteuid().is_root() {
            let _ = system::without_owners(empty.mount.as_fd());
        }
        Ok(empty)
    }
}

fn apply(
    spec: &SandboxSpec,
    path: &Path,
    step: MountStep,
    empty: &Empty,
    filled: &mut Vec<OwnedFd>,
) -> io::Result<()> {
    let (file, folder) = match path.starts_with(&spec.workspace) {
        true => (&empty.closed_file, &empty.closed_folder),
        false => (&empty.file, &empty.folder),
    };
    match step {
        // The target may be in a hidden folder.
        MountStep::Mount(mount) => attach(&mount, &open(path).or_else(|_| mount_point(path, &mount))?),
        MountStep::HideFolder => {
            let Some(target) = to_hide(path)? else { return Ok(()) };
            let shown = [&spec.visible, &spec.writable, &spec.temporary, &spec.caches];
            if !shown.iter().any(|list| list.iter().any(|inside| inside.starts_with(path))) {
                return bind(folder, &target, true);
            }
            // Visible paths in it need mount points.
            let mount = memory("1m", "755")?;
            attach(&mount, &target)?;
            filled.push(mount);
            Ok(())
        }
        MountStep::HideFile => to_hide(path)?.map_or(Ok(()), |target| bind(file, &target, true)),
        MountStep::Bind { read_only } => {
            beneath(spec, path)?.map_or(Ok(()), |target| bind(&target, &target, read_only))
        }
    }
}

fn bind(what: &OwnedFd, target: &OwnedFd, read_only: bool) -> io::Result<()> {
    let copied = open_tree(what, "", DETACHED | OpenTreeFlags::AT_EMPTY_PATH)?;
    if read_only {
        system::restrict(copied.as_fd(), RDONLY, true)?;
    }
    attach(&copied, target)
}

/// `None` if it is hidden already, or the user can't reach it anyway.
fn to_hide(path: &Path) -> io::Result<Option<OwnedFd>> {
    match open(path) {
        Ok(target) => Ok(Some(target)),
        Err(error) => match Errno::from_io_error(&error) {
            Some(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Opens a path in a writable folder without following links, because a command may have changed it.
fn beneath(spec: &SandboxSpec, path: &Path) -> io::Result<Option<OwnedFd>> {
    let roots = spec.writable.iter().filter(|root| path.starts_with(root));
    let Some(root) = roots.max_by_key(|root| root.components().count()) else { return Ok(None) };
    let rest = path.strip_prefix(root).unwrap_or(path);
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(open(root)?, rest, flags, Mode::empty(), how) {
        Ok(target) => Ok(Some(target)),
        // It is gone; the guard will check again.
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

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
    open(path)
}

fn devices() -> io::Result<Vec<(&'static str, OwnedFd)>> {
    let found = DEVICES.iter().map(|name| (*name, copy(&Path::new("/dev").join(name))));
    // Only `null` is required.
    let usable = found.filter(|(name, copied)| *name == DEVICES[0] || copied.is_ok());
    usable.map(|(name, copied)| Ok((name, copied?))).collect()
}

fn mount_dev(devices: &[(&str, OwnedFd)]) -> io::Result<()> {
    let dev = memory("1m", "755")?;
    attach(&dev, &open(Path::new("/dev"))?)?;
    for (name, device) in devices {
        let point = Path::new("/dev").join(name);
        fs::File::create(&point)?;
        attach(device, &open(&point)?)?;
    }
    for (name, to) in LINKS {
        std::os::unix::fs::symlink(to, Path::new("/dev").join(name))?;
    }
    for folder in ["/dev/shm", "/dev/pts", "/dev/mqueue"] {
        fs::create_dir(folder)?;
    }
    attach(&memory("50%", "1777")?, &open(Path::new("/dev/shm"))?)?;
    // Optional, because only programs that create terminals need it.
    let _ = system::mount("devpts", "/dev/pts", c"newinstance,ptmxmode=0666,mode=0620");
    system::restrict(dev.as_fd(), RDONLY, false)
}

fn mount_proc(spec: &SandboxSpec) -> io::Result<()> {
    let proc = Path::new("/proc");
    if spec.layers.fresh_proc {
        system::mount("proc", "/proc", c"")?;
        if system::kernel_version().is_some_and(|version| version >= COUNTS_ALONE) {
            // No other limit applies to root. If this fails, the limit per user remains.
            let _ = fs::write("/proc/sys/kernel/pid_max", system::MAX_PROCESSES.to_string());
        }
    } else if !spec.layers.landlock {
        // Other processes' root folders and environments would allow an escape.
        return attach(&memory("4k", "755")?, &open(proc)?);
    }
    for target in PROC_READ_ONLY.iter().filter_map(|name| open(&proc.join(name)).ok()) {
        bind(&target, &target, true)?;
    }
    Ok(())
}

const MAX_SOCKETS: usize = 512;

/// Call outside the command's network namespace.
pub fn named_sockets(spec: &SandboxSpec) -> BTreeSet<PathBuf> {
    let table = std::fs::read("/proc/net/unix").unwrap_or_default();
    let named = named_in(&table);
    let hidden_anyway = |path: &Path| {
        spec.hidden_folders.iter().chain(&spec.temporary).any(|folder| path.starts_with(folder))
    };
    named
        .into_iter()
        // Sockets in the project, such as a database's, belong to it.
        .filter(|path| !path.starts_with(&spec.workspace))
        .filter(|path| !hidden_anyway(path) || spec.visible.iter().any(|kept| path.starts_with(kept)))
        .filter(|path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_socket()))
        .take(MAX_SOCKETS)
        .collect()
}

/// The absolute paths in the kernel's table: the eighth field of a line, if present.
fn named_in(table: &[u8]) -> BTreeSet<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let path = |line: &[u8]| {
        let mut rest = line;
        for _ in 0..7 {
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(u8::is_ascii_whitespace)?;
            rest = &rest[end..];
        }
        let path = rest.strip_prefix(b" ")?;
        path.starts_with(b"/").then(|| PathBuf::from(std::ffi::OsStr::from_bytes(path)))
    };
    table.split(|&byte| byte == b'\n').skip(1).filter_map(path).collect()
}

#[cfg(test)]
mod socket_tests {
    use super::*;

    #[test]
    fn kernel_socket_table() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 23044 /run/a socket\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 31337\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 23045 @abstract\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 23046 /home/me/agent\n";
        let found: Vec<PathBuf> = named_in(table).into_iter().collect();
        assert_eq!(found, [Path::new("/home/me/agent"), Path::new("/run/a socket")]);
    }
}
