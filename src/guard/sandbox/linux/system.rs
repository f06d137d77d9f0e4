//! Linux system calls that no library wraps, for the child's side. Requires a single-threaded process.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::mount::MountFlags;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use base::process::descriptor;

pub const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;
pub const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
pub const NODEV: u64 = libc::MOUNT_ATTR_NODEV;

/// The exit code of a command that could not be started.
pub const NOT_STARTED: i32 = 127;

/// As in `linux/mount.h`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Removes rights from the mount of `fd`, and with `below` from all mounts below it.
pub fn restrict(fd: BorrowedFd, set: u64, below: bool) -> io::Result<()> {
    let attributes = MountAttributes { set, clear: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if below { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a C string, and the structure has the size that is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttributes>(),
        )
    };
    checked(result).map(|_| ())
}

/// Returns 0 in the child.
pub fn clone_into(flags: i32) -> io::Result<i32> {
    let flags = libc::c_long::from(flags | libc::SIGCHLD);
    // SAFETY: without CLONE_VM this is a fork; the process has one thread, so the child may continue in Rust.
    // The argument order differs between architectures only after the stack pointer, and those are all zero.
    let result = unsafe { libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize) };
    checked(result).map(|pid| i32::try_from(pid).unwrap_or(0))
}

/// Returns only on failure.
pub fn execute(command: &[std::ffi::OsString], environment: &[(String, Option<String>)]) -> io::Error {
    use std::os::unix::process::CommandExt;
    let Some((program, args)) = command.split_first() else { return io::ErrorKind::InvalidInput.into() };
    // The standard library searches PATH, as a shell would.
    let mut command = std::process::Command::new(program);
    command.args(args);
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.exec()
}

/// Signals that end a program, and `more`, can be read from the descriptor instead.
pub fn take_signals(more: &[libc::c_int]) -> io::Result<OwnedFd> {
    // SAFETY: the set is filled before it is used, and the descriptor is new and ours.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].iter().chain(more) {
            libc::sigaddset(&raw mut set, *signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        let fd = checked(libc::c_long::from(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC)))?;
        Ok(OwnedFd::from_raw_fd(RawFd::try_from(fd).unwrap_or(-1)))
    }
}

pub fn next_signal(fd: &OwnedFd) -> Option<i32> {
    let mut bytes = [0_u8; size_of::<libc::signalfd_siginfo>()];
    let count = rustix::io::read(fd, &mut bytes).ok()?;
    (count == bytes.len()).then(|| i32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

pub fn reset_signals() {
    // SAFETY: an empty set unblocks all, and default handlers hold no pointers.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

pub fn die_of(signal: i32) -> ! {
    reset_signals();
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    // SAFETY: no memory is touched; should the signal not end us, the exit does.
    unsafe {
        libc::raise(signal);
        libc::_exit(128 + signal)
    }
}

/// Exits without running anything else.
pub fn leave(code: i32) -> ! {
    // SAFETY: nothing follows.
    unsafe { libc::_exit(code) }
}

/// At exec, closes all descriptors except the first three and `kept`.
pub fn close_the_rest(kept: Option<RawFd>) {
    let close = |from: u32, to: u32| {
        // SAFETY: only a mark is set on descriptors.
        unsafe { libc::syscall(libc::SYS_close_range, from, to, libc::CLOSE_RANGE_CLOEXEC) };
    };
    match kept.and_then(|fd| u32::try_from(fd).ok()) {
        Some(fd) => {
            close(3, fd - 1);
            close(fd + 1, u32::MAX);
        }
        None => close(3, u32::MAX),
    }
}

/// In a fresh network namespace.
pub fn loopback_up() -> io::Result<()> {
    // SAFETY: the structure is zeroed, its name fits its field, and the descriptor is new and ours.
    unsafe {
        let fd = checked(libc::c_long::from(libc::socket(
            libc::AF_INET,
            libc::SOCK_DGRAM | libc::SOCK_CLOEXEC,
            0,
        )))?;
        let socket = OwnedFd::from_raw_fd(RawFd::try_from(fd).unwrap_or(-1));
        let mut request: libc::ifreq = std::mem::zeroed();
        for (slot, byte) in request.ifr_name.iter_mut().zip(b"lo") {
            *slot = libc::c_char::try_from(*byte).unwrap_or(0);
        }
        request.ifr_ifru.ifru_flags =
            libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(libc::c_short::MAX);
        checked(libc::c_long::from(libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )))?;
        Ok(())
    }
}

/// `None` without Landlock.
pub fn landlock_version() -> Option<i32> {
    const ASK_VERSION: u32 = 1;
    // SAFETY: with this flag the kernel reads nothing and answers with a number.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, ASK_VERSION)
    };
    i32::try_from(version).ok().filter(|&version| version > 0)
}

pub fn mount(kind: &str, path: &str, options: &CStr) -> io::Result<()> {
    Ok(rustix::mount::mount(kind, path, kind, MountFlags::NOSUID | MountFlags::NOEXEC, options)?)
}

/// Major and minor.
pub fn kernel_version() -> Option<(u32, u32)> {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// If memory runs out, our processes are killed before the user's.
pub fn go_first() {
    const READILY: &str = "500";
    let _ = std::fs::write("/proc/self/oom_score_adj", READILY);
}

/// Per command, if the kernel counts them per namespace.
pub const MAX_PROCESSES: u64 = 8_192;

/// Some kernels count only per user; a user namespace then limits that to our processes.
pub fn limit_processes(most: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nproc);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let _ = setrlimit(Resource::Nproc, Rlimit { current: lower(current), maximum: lower(maximum) });
}

/// Leaves stdin, stdout and the side channel to the command: its pipes must end when it does.
pub fn release_files(side: Option<RawFd>) {
    let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") else { return };
    let null = OwnedFd::from(null);
    let _ = rustix::stdio::dup2_stdin(&null);
    let _ = rustix::stdio::dup2_stdout(&null);
    let _ = side.map(|side| descriptor::place(&null, side));
}

/// Not inherited by other programs; the reading end comes first.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// Maps the user to the same id in the process's user namespace; no other user exists there.
pub fn map_user(pid: i32) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let write = |name: &str, text: String| std::fs::write(format!("/proc/{pid}/{name}"), text);
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))
}
