//! Linux system calls that no library wraps, for the child. Requires a single-threaded process.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, OsStr};
use std::io::{self, IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::mount::MountFlags;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{Resource, Rlimit, WaitOptions, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};
use seccompiler::sock_filter;

use base::system::os::place;

pub const RDONLY: u64 = libc::MOUNT_ATTR_RDONLY;
pub const NOSUID: u64 = libc::MOUNT_ATTR_NOSUID;
pub const NODEV: u64 = libc::MOUNT_ATTR_NODEV;

/// The exit code of a command that couldn't be started.
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
    set_attributes(fd, MountAttributes { set, clear: 0, propagation: 0, userns_fd: 0 }, below)
}

/// Root's files on the mount of `fd` get an owner that this user namespace doesn't know. The mount must be new.
pub fn without_owners(fd: BorrowedFd) -> io::Result<()> {
    let (wait, go) = pipe()?;
    let child = clone_into(libc::CLONE_NEWUSER)?;
    if child == 0 {
        drop(go);
        let _ = rustix::io::read(&wait, &mut [0_u8; 1]);
        leave(0);
    }
    let mapped = map(child.unsigned_abs(), (1, 0), (1, 0))
        .and_then(|()| std::fs::File::open(format!("/proc/{child}/ns/user")));
    drop(go);
    let _ = rustix::process::waitpid(rustix::process::Pid::from_raw(child), WaitOptions::empty());
    let namespace = mapped?;
    let userns_fd = u64::try_from(namespace.as_raw_fd()).map_err(io::Error::other)?;
    let set = libc::MOUNT_ATTR_IDMAP;
    set_attributes(fd, MountAttributes { set, clear: 0, propagation: 0, userns_fd }, false)
}

fn set_attributes(fd: BorrowedFd, attributes: MountAttributes, below: bool) -> io::Result<()> {
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

pub fn start(command: &[std::ffi::OsString], environment: &[(String, Option<String>)]) -> ! {
    use std::os::unix::process::CommandExt;
    let (program, args) = command
        .split_first()
        .map_or((OsStr::new(""), &[][..]), |(program, args)| (program.as_os_str(), args));
    // Like a shell, the standard library searches PATH.
    let mut command = std::process::Command::new(program);
    command.args(args);
    for (name, value) in environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let error = command.exec();
    let _ = writeln!(io::stderr(), "mycode: {} could not be started: {error}", program.to_string_lossy());
    leave(NOT_STARTED)
}

/// Makes signals that end a program, and `more`, readable from the returned descriptor.
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

pub fn leave(code: i32) -> ! {
    // SAFETY: nothing follows.
    unsafe { libc::_exit(code) }
}

/// Marks all descriptors except the first three and `kept` to be closed at exec.
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

/// Hides our memory from other processes, and moves credentials there from the environment, which root could read.
pub fn hide_credentials() {
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    for name in base::secret::credential_variables() {
        let (Some(value), Ok(text)) = (std::env::var_os(&name), CString::new(name.as_encoded_bytes())) else {
            continue;
        };
        // SAFETY: there is one thread. Setting the variable leaves its first text unused, to be written over.
        unsafe {
            let first = libc::getenv(text.as_ptr());
            std::env::set_var(&name, value);
            if !first.is_null() && libc::getenv(text.as_ptr()) != first {
                std::ptr::write_bytes(first, 0, libc::strlen(first));
            }
        }
    }
}

/// For a new network namespace.
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

/// Per command, if the kernel counts per namespace.
pub const MAX_PROCESSES: u64 = 8_192;

/// Some kernels count only per user; a user namespace then limits the count to our processes.
pub fn limit_processes(most: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nproc);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let _ = setrlimit(Resource::Nproc, Rlimit { current: lower(current), maximum: lower(maximum) });
}

/// Leaves stdin, stdout and the side channel to the command, so that its pipes close when it ends.
pub fn release_files(side: Option<RawFd>) {
    let Ok(null) = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null") else { return };
    let null = OwnedFd::from(null);
    let _ = rustix::stdio::dup2_stdin(&null);
    let _ = rustix::stdio::dup2_stdout(&null);
    let _ = side.map(|side| place(&null, side));
}

/// Not inherited by other programs; the reading end comes first.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// Creates namespaces for this process, in a new user namespace if it needs one.
pub fn unshare(kinds: i32, user_namespace: bool) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let flags = kinds | if user_namespace { libc::CLONE_NEWUSER } else { 0 };
    // SAFETY: only this process's namespaces change.
    checked(libc::c_long::from(unsafe { libc::unshare(flags) }))?;
    if user_namespace { map(std::process::id(), (user, user), (group, group)) } else { Ok(()) }
}

/// Removes these capabilities for good, including from all children.
pub fn give_up(rights: CapabilitySet) -> io::Result<()> {
    for right in rights.iter() {
        // A capability that this kernel doesn't know can't be held either.
        let _ = rustix::thread::remove_capability_from_bounding_set(right);
    }
    rustix::thread::clear_ambient_capability_set()?;
    let held = rustix::thread::capabilities(None)?;
    let CapabilitySets { effective, permitted, inheritable } = held;
    let left = CapabilitySets {
        effective: effective - rights,
        permitted: permitted - rights,
        inheritable: inheritable - rights,
    };
    Ok(rustix::thread::set_capabilities(None, left)?)
}

/// Maps the user to the same id in the process's user namespace; no other user exists there.
pub fn map_user(pid: i32) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    map(pid.unsigned_abs(), (user, user), (group, group))
}

/// Pairs of the id inside and the id outside.
fn map(pid: u32, user: (u32, u32), group: (u32, u32)) -> io::Result<()> {
    let write = |name: &str, text: String| std::fs::write(format!("/proc/{pid}/{name}"), text);
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{} {} 1", user.0, user.1))?;
    write("gid_map", format!("{} {} 1", group.0, group.1))
}

/// Reported calls wait for an answer (seccomp_unotify(2)). Fails with `EBUSY` if such a filter already applies.
pub fn listen(program: &[sock_filter]) -> io::Result<OwnedFd> {
    let set = |flags: libc::c_ulong| {
        let program = libc::sock_fprog {
            len: u16::try_from(program.len()).unwrap_or(0),
            filter: program.as_ptr().cast_mut().cast(),
        };
        // SAFETY: both structures have the kernel's layout, and the kernel copies the program.
        checked(unsafe {
            libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
        })
    };
    // Signals must not interrupt a call that the helper examines; kernels before 5.19 don't know the flag.
    let fd = set(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
        .or_else(|_| set(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER))?;
    // SAFETY: the descriptor is new and ours.
    let listener = unsafe { OwnedFd::from_raw_fd(RawFd::try_from(fd).unwrap_or(-1)) };
    // Faster where supported (6.6): the two sides take turns on one processor.
    const TAKE_TURNS: libc::c_ulong = 1;
    // SAFETY: the argument is a number.
    unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS as _, TAKE_TURNS) };
    Ok(listener)
}

/// A call that waits for an answer through `listener`.
pub struct WaitingCall<'l> {
    listener: &'l OwnedFd,
    id: u64,
    pub pid: i32,
    pub number: libc::c_long,
    pub arguments: [u64; 6],
}

impl<'l> WaitingCall<'l> {
    /// `None` if its process was killed in the meantime.
    pub fn next(listener: &'l OwnedFd) -> Option<Self> {
        // SAFETY: the structure is zeroed, as the kernel requires, and has the size that the request names.
        let call = unsafe {
            let mut call: libc::seccomp_notif = std::mem::zeroed();
            let request = libc::SECCOMP_IOCTL_NOTIF_RECV as _;
            checked(libc::c_long::from(libc::ioctl(listener.as_raw_fd(), request, &raw mut call))).ok()?;
            call
        };
        let pid = i32::try_from(call.pid).ok()?;
        Some(Self { listener, id: call.id, pid, number: call.data.nr.into(), arguments: call.data.args })
    }

    pub fn answer(&self, refused: bool) {
        /// `SECCOMP_USER_NOTIF_FLAG_CONTINUE`.
        const CONTINUE: u32 = 1;
        let (error, flags) = if refused { (-libc::EPERM, 0) } else { (0, CONTINUE) };
        let answer = libc::seccomp_notif_resp { id: self.id, val: 0, error, flags };
        let request = libc::SECCOMP_IOCTL_NOTIF_SEND as _;
        // SAFETY: the structure has the size that the request names.
        unsafe { libc::ioctl(self.listener.as_raw_fd(), request, &raw const answer) };
    }

    /// Whether the caller still waits, so that what was read under its number really belongs to it.
    pub fn is_waiting(&self) -> bool {
        let request = libc::SECCOMP_IOCTL_NOTIF_ID_VALID as _;
        // SAFETY: the kernel reads one number.
        unsafe { libc::ioctl(self.listener.as_raw_fd(), request, &raw const self.id) == 0 }
    }
}

/// Reads from the memory of another process, at least up to the end of the page.
pub fn read_memory(pid: i32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    const PAGE: usize = 4096;
    let address = usize::try_from(address).map_err(io::Error::other)?;
    let first = (PAGE - address % PAGE).min(buffer.len());
    let there = |from: usize, len: usize| libc::iovec {
        iov_base: std::ptr::without_provenance_mut(address.wrapping_add(from)),
        iov_len: len,
    };
    // If the second page is missing, the first is still read.
    let theirs = [there(0, first), there(first, buffer.len() - first)];
    let ours = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: the kernel checks the other process's addresses; ours are those of the buffer.
    let count = unsafe { libc::process_vm_readv(pid, &raw const ours, 1, theirs.as_ptr(), 2, 0) };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Not inherited by other programs.
pub fn socket_pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

pub fn send_descriptor(socket: &OwnedFd, fd: &OwnedFd) -> io::Result<()> {
    let fds = [std::os::fd::AsFd::as_fd(fd)];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = SendAncillaryBuffer::new(&mut space);
    message.push(SendAncillaryMessage::ScmRights(&fds));
    sendmsg(socket, &[IoSlice::new(b"f")], &mut message, SendFlags::NOSIGNAL)?;
    Ok(())
}

pub fn receive_descriptor(socket: &OwnedFd) -> Option<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut message = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(socket, &mut [IoSliceMut::new(&mut [0])], &mut message, flags).ok()?;
    message.drain().find_map(|part| match part {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    })
}
