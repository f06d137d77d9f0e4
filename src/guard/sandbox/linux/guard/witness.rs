//! Watches which files a command creates: seccomp reports the calls (seccomp_unotify(2) of Linux man-pages 6.16, read in
//! November 2026), and the helper compares their last names with the protected ones and lets them continue. This is evidence, not a
//! barrier: a command with threads can change a name after it was read. Without mounts, the helper also refuses some calls.

#![cfg(target_os = "linux")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::event::PollFlags;
use rustix::fs::OFlags;

use super::as_seen::{self, altered, follow, is_own_process, opened_as, resolve};
use super::handles::{self, Identity};
use super::starts;
use crate::sandbox::linux::seccomp::{self, Watched};
use crate::sandbox::linux::system::{self, WaitingCall};
use crate::sandbox::protected_paths::is_rules_file;
use crate::sandbox::spec::{Masks, RawPath, SandboxSpec};

#[derive(Debug)]
pub enum Evidence {
    Unknown,
    Seen(Created),
}

#[derive(Debug, Default)]
pub struct Created {
    /// By folder and lowercase name; whether the contents came along (rename, link).
    names: BTreeMap<(Identity, String), bool>,
    /// Created in a folder that couldn't be determined.
    anywhere: BTreeSet<String>,
}

impl Created {
    pub fn add(&mut self, folder: Option<Identity>, name: &OsStr, with_contents: bool) {
        let name = lower(name);
        match folder {
            Some(folder) => *self.names.entry((folder, name)).or_default() |= with_contents,
            None => _ = self.anywhere.insert(name),
        }
    }
}

impl Evidence {
    pub fn made(&self, folder: Identity, name: &OsStr) -> bool {
        self.has(folder, name, |_| true)
    }

    /// Whether the command may have brought the contents of `name` along with it.
    pub fn brought(&self, folder: Identity, name: &OsStr) -> bool {
        self.has(folder, name, |whole| whole)
    }

    fn has(&self, folder: Identity, name: &OsStr, fits: impl Fn(bool) -> bool) -> bool {
        let Self::Seen(seen) = self else { return true };
        let name = lower(name);
        seen.anywhere.contains(&name) || seen.names.get(&(folder, name)).is_some_and(|whole| fits(*whole))
    }
}

pub fn lower(name: &OsStr) -> String {
    name.to_string_lossy().to_lowercase()
}

const MAX_PATH: usize = 4096;

pub struct Reporter {
    socket: OwnedFd,
    watched: Watched,
}

impl Reporter {
    /// Starts watching this process and all its children, if the kernel allows it.
    pub fn begin(&self) {
        let listen = |program: Vec<_>| {
            system::listen(&program).or_else(|_| {
                rustix::thread::set_no_new_privs(true)?;
                system::listen(&program)
            })
        };
        if let Ok(program) = seccomp::reporting(self.watched)
            && let Ok(listener) = listen(program)
        {
            let _ = system::send_descriptor(&self.socket, &listener);
        }
    }
}

#[derive(Default)]
pub struct Witness {
    socket: Option<OwnedFd>,
    listener: Option<OwnedFd>,
    names: BTreeSet<String>,
    created: Created,
    /// It watched, but couldn't read everything.
    is_blind: bool,
    /// May not be created; servers are refused at once.
    refused: BTreeSet<PathBuf>,
    /// Nor may rules files in any folder.
    refuses_rules: bool,
    /// May not be moved or removed, if no mount prevents it.
    pinned: BTreeSet<PathBuf>,
    /// May not be opened, if no mount hides them.
    hidden: Vec<PathBuf>,
    /// Modes, times and attributes may be changed only here, if no mount prevents it.
    alterable: Vec<PathBuf>,
    masks: Masks,
    /// Sentences about programs that weren't allowed to start.
    kept_out: BTreeSet<String>,
}

/// Positions of a call's folder argument, if it has one, and its path argument.
#[derive(Clone, Copy)]
struct Place(Option<usize>, usize);

const NOFOLLOW: u64 = libc::AT_SYMLINK_NOFOLLOW as u64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Created,
    /// Created, possibly at the target of a link.
    Opened,
    /// Gets its contents from elsewhere.
    Replaced,
    /// A link to the path in this argument.
    Linked(usize),
    Removed,
    /// Gets another name.
    Shared,
    /// Its mode, owner, times or attributes change.
    Altered {
        follows: bool,
    },
    AlteredOpen,
    /// The scheduling or limits of the process numbered in this argument.
    Process(usize),
    AllProcesses,
}

fn changes(call: &WaitingCall<'_>) -> Vec<(Place, Change)> {
    use Change::{
        AllProcesses, Altered, AlteredOpen, Created, Linked, Opened, Process, Removed, Replaced, Shared,
    };
    const EXCHANGE: u64 = 2;
    let at = |folder, path| Place(Some(folder), path);
    let rename = |from, to| vec![(from, Removed), (to, Replaced)];
    let alters = |place, flags: u64| vec![(place, Altered { follows: flags & NOFOLLOW == 0 })];
    // Classes of `setpriority` and `ioprio_set`: a process, a group, a user.
    let of_class = |users: u64| match call.arguments[0] & 0xffff_ffff == users {
        true => vec![(Place(None, 0), AllProcesses)],
        false => vec![(Place(None, 0), Process(1))],
    };
    match call.number {
        libc::SYS_fchmodat => alters(at(0, 1), 0),
        libc::SYS_fchownat => alters(at(0, 1), call.arguments[4]),
        libc::SYS_utimensat => alters(at(0, 1), call.arguments[3]),
        libc::SYS_setxattr | libc::SYS_removexattr => alters(Place(None, 0), 0),
        libc::SYS_lsetxattr | libc::SYS_lremovexattr => alters(Place(None, 0), NOFOLLOW),
        libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_fsetxattr | libc::SYS_fremovexattr => {
            vec![(Place(None, 0), AlteredOpen)]
        }
        #[cfg(target_arch = "x86_64")]
        libc::SYS_chmod | libc::SYS_chown | libc::SYS_utime | libc::SYS_utimes => alters(Place(None, 0), 0),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_lchown => alters(Place(None, 0), NOFOLLOW),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_futimesat => alters(at(0, 1), 0),
        libc::SYS_prlimit64
        | libc::SYS_sched_setaffinity
        | libc::SYS_sched_setscheduler
        | libc::SYS_sched_setparam
        | libc::SYS_sched_setattr => vec![(Place(None, 0), Process(0))],
        libc::SYS_setpriority => of_class(2),
        libc::SYS_ioprio_set => of_class(3),
        libc::SYS_openat | libc::SYS_openat2 => vec![(at(0, 1), Opened)],
        libc::SYS_mkdirat | libc::SYS_mknodat => vec![(at(0, 1), Created)],
        libc::SYS_symlinkat => vec![(at(1, 2), Linked(0))],
        libc::SYS_linkat => vec![(at(0, 1), Shared), (at(2, 3), Created)],
        libc::SYS_renameat2 if call.arguments[4] & EXCHANGE != 0 => {
            [rename(at(0, 1), at(2, 3)), rename(at(2, 3), at(0, 1))].concat()
        }
        libc::SYS_renameat | libc::SYS_renameat2 => rename(at(0, 1), at(2, 3)),
        libc::SYS_unlinkat => vec![(at(0, 1), Removed)],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_open | libc::SYS_creat => vec![(Place(None, 0), Opened)],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_mkdir | libc::SYS_mknod => vec![(Place(None, 0), Created)],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_symlink => vec![(Place(None, 1), Linked(0))],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_link => vec![(Place(None, 0), Shared), (Place(None, 1), Created)],
        #[cfg(target_arch = "x86_64")]
        libc::SYS_rename => rename(Place(None, 0), Place(None, 1)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink | libc::SYS_rmdir => vec![(Place(None, 0), Removed)],
        _ => Vec::new(),
    }
}

/// The paths and the folders around them inside the workspace.
fn around<'a>(paths: impl IntoIterator<Item = &'a PathBuf>, workspace: &Path) -> BTreeSet<PathBuf> {
    let all = paths.into_iter().flat_map(|path| path.ancestors());
    all.filter(|path| path.starts_with(workspace) && *path != workspace).map(Path::to_owned).collect()
}

impl Witness {
    /// `protected` are paths in the command's tree.
    pub fn new(spec: &SandboxSpec, protected: &BTreeSet<PathBuf>) -> io::Result<(Self, Reporter)> {
        let (socket, theirs) = system::socket_pair()?;
        let inside = |path: &PathBuf| {
            let root = spec.writable.iter().find(|root| path.starts_with(root))?;
            path.strip_prefix(root).ok().map(Path::to_owned)
        };
        let inside: Vec<PathBuf> = protected.iter().filter_map(inside).collect();
        let alone = !spec.layers.namespaces;
        let tmp = spec.private.join("tmp");
        let alterable = spec.writable.iter().map(|path| path.0.clone()).chain([tmp]);
        let masked = |paths: &[RawPath]| -> Vec<PathBuf> {
            paths.iter().filter(|_| alone).filter_map(|path| path.canonicalize().ok()).collect()
        };
        let (hidden, kept) = (masked(&spec.masks.hidden), masked(&spec.masks.read_only));
        let mut pinned = around(hidden.iter().chain(&kept), &spec.workspace);
        let of_masks = pinned.iter().filter_map(|path| path.file_name()).map(lower);
        let names = inside.iter().flat_map(|path| path.iter().map(lower)).chain(of_masks).collect();
        let gits = spec.rules_folders.iter().filter(|_| alone).map(|folder| folder.join(".git"));
        pinned.extend(gits.flat_map(|git| [git.join("hooks"), git.join("config"), git]));
        let starts = spec.masks.judges_starts();
        let (writes, opens) = (spec.is_server, !hidden.is_empty());
        let watched = Watched { creates: true, moves: false, alone, writes, opens, starts };
        let witness = Self {
            socket: Some(socket),
            names,
            refused: if spec.is_server { protected.clone() } else { BTreeSet::new() },
            refuses_rules: spec.is_server,
            pinned,
            hidden,
            alterable: alterable.filter_map(|path| path.canonicalize().ok()).collect(),
            masks: spec.masks.clone(),
            ..Self::default()
        };
        Ok((witness, Reporter { socket: theirs, watched }))
    }

    /// For an unconfined command: watches what it starts, and that no folder around a denied file is moved away.
    pub fn of_unconfined(masks: &Masks) -> io::Result<(Self, Reporter)> {
        let (socket, theirs) = system::socket_pair()?;
        let kept = masks.read_only.iter().filter_map(|path| path.canonicalize().ok());
        let pinned = around(&kept.collect::<Vec<_>>(), &masks.workspace);
        let watched =
            Watched { starts: masks.judges_starts(), moves: !pinned.is_empty(), ..Watched::default() };
        let names = pinned.iter().filter_map(|path| path.file_name()).map(lower).collect();
        let witness = Self { socket: Some(socket), names, pinned, masks: masks.clone(), ..Self::default() };
        Ok((witness, Reporter { socket: theirs, watched }))
    }

    pub fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        self.listener.as_ref().or(self.socket.as_ref()).map(AsFd::as_fd)
    }

    /// Handles events after a wait. Never blocks.
    pub fn look(&mut self, events: PollFlags) {
        if events.is_empty() {
            return;
        }
        let Some(listener) = self.listener.take() else {
            self.listener = self.socket.take().and_then(|socket| system::receive_descriptor(&socket));
            return;
        };
        if events.contains(PollFlags::IN)
            && let Some(call) = WaitingCall::next(&listener)
        {
            call.answer(self.judge(&call));
        }
        self.listener = Some(listener);
    }

    pub fn kept_out(&mut self) -> BTreeSet<String> {
        std::mem::take(&mut self.kept_out)
    }

    pub fn evidence(self) -> Evidence {
        match self.listener.is_some() && !self.is_blind {
            true => Evidence::Seen(self.created),
            false => Evidence::Unknown,
        }
    }

    /// Records what the call creates; returns whether it is refused.
    fn judge(&mut self, call: &WaitingCall<'_>) -> bool {
        if matches!(call.number, libc::SYS_execve | libc::SYS_execveat) {
            let why = starts::refusal(call, &self.masks);
            return why.map(|why| self.kept_out.insert(why)).is_some();
        }
        let creates = self.creates(call);
        if !creates && self.hidden.is_empty() {
            return false;
        }
        let mut refused = false;
        for (Place(folder, path), change) in changes(call) {
            let base = folder.map(|at| call.arguments[at]);
            match change {
                Change::Process(argument) => {
                    refused |= !is_own_process(call.pid, call.arguments[argument]);
                    continue;
                }
                Change::AllProcesses => return true,
                Change::AlteredOpen => {
                    refused |= !self.may_alter(opened_as(call.pid, call.arguments[0]));
                    continue;
                }
                Change::Altered { follows } => {
                    let path = self.text(call, path).unwrap_or_default();
                    refused |= !self.may_alter(altered(call.pid, base, &path, follows));
                    continue;
                }
                _ => {}
            }
            let Some(path) = self.text(call, path) else {
                // A process that hides its memory could open hidden files.
                refused |= self.is_blind && !self.hidden.is_empty();
                continue;
            };
            let reaches = matches!(change, Change::Opened | Change::Removed | Change::Shared);
            if reaches && self.hides(call.pid, base, &path) {
                return true;
            }
            refused |= match change {
                Change::Shared => false,
                Change::Opened if !creates => false,
                Change::Linked(to) => {
                    let target = self.text(call, to).unwrap_or_default();
                    let target = path.parent().unwrap_or(Path::new("")).join(target);
                    let leads = self.named(call, base, &target, Change::Created);
                    self.named(call, base, &path, Change::Replaced) || leads
                }
                Change::Opened => {
                    let path = follow(call.pid, base, path);
                    self.named(call, base, &path, Change::Created)
                }
                _ => self.named(call, base, &path, change),
            };
        }
        refused
    }

    fn named(&mut self, call: &WaitingCall<'_>, base: Option<u64>, path: &Path, change: Change) -> bool {
        let Some(name) = path.file_name() else { return false };
        if !self.names.contains(&lower(name)) && !is_rules_file(name) {
            return false;
        }
        let folder = resolve(call.pid, base, path.parent().unwrap_or(Path::new("")));
        // Otherwise the process is gone, and its number may be reused.
        if !call.is_waiting() {
            return false;
        }
        let Ok((folder, identity)) = folder else {
            if change != Change::Removed {
                self.created.add(None, name, true);
            }
            return false;
        };
        let place = fs::read_link(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        let is_in =
            |paths: &BTreeSet<PathBuf>| place.as_ref().is_ok_and(|place| paths.contains(&place.join(name)));
        if change == Change::Removed {
            return is_in(&self.pinned);
        }
        // An existing file is only opened; but what a server writes to it between its calls isn't noticed otherwise.
        if change == Change::Created && handles::look(&folder, name).is_some() {
            return self.refuses_rules && is_rules_file(name);
        }
        if self.refuses_rules && is_rules_file(name) || is_in(&self.refused) {
            return true;
        }
        self.created.add(Some(identity), name, change == Change::Replaced);
        false
    }

    fn may_alter(&self, path: io::Result<PathBuf>) -> bool {
        match path {
            // Pipes and memory aren't files.
            Ok(path) => {
                !path.is_absolute()
                    || path.to_string_lossy().starts_with("/memfd:")
                    || self.alterable.iter().any(|folder| path.starts_with(folder))
            }
            Err(error) => error.raw_os_error() != Some(libc::ELOOP),
        }
    }

    /// Whether opening a file would create it; for a server, also whether it opens for writing.
    fn creates(&mut self, call: &WaitingCall<'_>) -> bool {
        let mut in_memory = [0_u8; 8];
        let flags = match call.number {
            libc::SYS_openat => call.arguments[2],
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => call.arguments[1],
            libc::SYS_openat2 => {
                let read = self.read(call, 2, &mut in_memory);
                read.map_or(0, |_| u64::from_ne_bytes(in_memory))
            }
            _ => return true,
        };
        let writes = if self.refuses_rules { libc::O_WRONLY | libc::O_RDWR } else { 0 };
        flags & u64::from((libc::O_CREAT | writes).unsigned_abs()) != 0
    }

    /// Whether it is, or leads to, a denied file. What is already open was allowed.
    fn hides(&self, pid: i32, base: Option<u64>, path: &Path) -> bool {
        if self.hidden.is_empty() {
            return false;
        }
        let place = as_seen::open_as(pid, base, path, OFlags::PATH | OFlags::CLOEXEC)
            .and_then(|(file, _)| fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())));
        match place {
            Ok(place) => self.hidden.iter().any(|hidden| place.starts_with(hidden)),
            // Links of `/proc`, such as to a process's folder.
            Err(error) => {
                let is_open = path.iter().any(|part| part == "fd") || path.starts_with("/dev");
                error.raw_os_error() == Some(libc::ELOOP) && !is_open
            }
        }
    }

    fn text(&mut self, call: &WaitingCall<'_>, argument: usize) -> Option<PathBuf> {
        let mut buffer = [0_u8; MAX_PATH];
        let count = self.read(call, argument, &mut buffer)?;
        let text = buffer[..count].split(|byte| *byte == 0).next()?;
        Some(OsString::from_vec(text.to_vec()).into())
    }

    fn read(&mut self, call: &WaitingCall<'_>, at: usize, buffer: &mut [u8]) -> Option<usize> {
        let read = system::read_memory(call.pid, call.arguments[at], buffer);
        // A wrong address makes the call itself fail.
        if read.as_ref().is_err_and(|error| error.raw_os_error() != Some(libc::EFAULT)) {
            self.is_blind |= call.is_waiting();
        }
        read.ok()
    }
}
