//! Everything specific to Unix: facts about files, names as bytes, processes and signals, the terminal, descriptors with
//! fixed numbers. The only unsafe code besides `sandbox/linux/system`, because the standard library has no safe way to own
//! a descriptor by number.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{
    DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown,
};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use futures_util::stream::{Stream, unfold};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags};
use rustix::io::{Errno, FdFlags};
use rustix::process::{Pid, WaitId, WaitIdOptions};
use rustix::termios::{self, LocalModes, OptionalActions, Termios};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};

#[cfg(not(unix))]
compile_error!("mycode runs on Linux, on macOS, and on Windows within WSL");

pub type Handle = OwnedFd;
pub type Signal = rustix::process::Signal;

#[derive(Clone, Copy, Debug)]
pub struct FileFacts {
    pub mode: u32,
    /// Equal for all names of the same file.
    pub id: (u64, u64),
    pub names: u64,
    pub owner: (u32, u32),
    pub modified_ns: i64,
    pub changed_ns: i64,
}

#[derive(Clone, Copy, Debug)]
pub struct ProcessFacts {
    pub parent: i32,
    pub session: i32,
    /// Start time in a system-specific unit, because numbers are reused.
    pub start: u64,
    pub zombie: bool,
}

pub fn facts(meta: &Metadata) -> FileFacts {
    let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
    FileFacts {
        mode: meta.mode() & 0o7777,
        id: (meta.dev(), meta.ino()),
        names: meta.nlink(),
        owner: (meta.uid(), meta.gid()),
        modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
        changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
    }
}

/// Whether standard output and standard error go to the same file or pipe.
pub fn outputs_are_one() -> bool {
    let (out, error) = (rustix::fs::fstat(io::stdout()), rustix::fs::fstat(io::stderr()));
    let id = |stat: rustix::fs::Stat| (stat.st_dev, stat.st_ino);
    !termios::isatty(io::stdout()) && out.is_ok_and(|out| error.is_ok_and(|error| id(out) == id(error)))
}

pub fn special_kind(meta: &Metadata) -> Option<&'static str> {
    let kind = meta.file_type();
    if kind.is_fifo() {
        Some("named pipe (FIFO)")
    } else if kind.is_socket() {
        Some("socket")
    } else if kind.is_char_device() {
        Some("character device")
    } else if kind.is_block_device() {
        Some("block device")
    } else {
        None
    }
}

pub fn user() -> u32 {
    rustix::process::geteuid().as_raw()
}

pub fn is_link_error(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}

pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

pub fn private_folders() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

/// Opening never waits for a pipe's other end or takes over a terminal.
pub fn without_waiting(options: &mut OpenOptions, follow: bool) -> &mut OpenOptions {
    let at_link = if follow { OFlags::empty() } else { OFlags::NOFOLLOW };
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY | at_link).bits() as i32)
}

pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

pub fn hand_over(file: &File, owner: (u32, u32), mode: u32) -> io::Result<()> {
    if facts(&file.metadata()?).owner != owner {
        fchown(file, Some(owner.0), Some(owner.1))?;
    }
    // After the owner, because changing it clears set-id bits.
    file.set_permissions(Permissions::from_mode(mode))
}

/// Access lists, capabilities and user attributes would be lost in a rename; system-assigned labels wouldn't.
pub fn has_attributes(file: &File) -> bool {
    let mut names = [0_u8; 1024];
    let count = match rustix::fs::flistxattr(file, &mut names) {
        Ok(count) => count,
        Err(error) => return error == Errno::RANGE,
    };
    names[..count].split(|&b| b == 0).any(|name| {
        name.starts_with(b"user.") || name == b"system.posix_acl_access" || name == b"security.capability"
    })
}

pub fn is_readable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

pub fn is_writable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

pub fn make_link(to: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, link)
}

pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

pub fn path_of(bytes: Vec<u8>) -> PathBuf {
    OsString::from_vec(bytes).into()
}

pub fn free_disk(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail * disk.f_frsize)
}

/// Syncs the file system of `folder`, or, where that isn't possible, only the folder.
pub fn sync(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        #[cfg(target_os = "linux")]
        let _ = rustix::fs::syncfs(folder);
        #[cfg(not(target_os = "linux"))]
        let _ = folder.sync_all();
    }
}

#[cfg(not(target_os = "macos"))]
pub fn processes() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(not(target_os = "macos"))]
pub fn process_facts(number: i32) -> Option<ProcessFacts> {
    let stat = std::fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name in parentheses may contain spaces and parentheses.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(15)?.parse().ok()?;
    Some(ProcessFacts { parent, session, start, zombie })
}

#[cfg(target_os = "macos")]
pub fn processes() -> Vec<i32> {
    let mut numbers = vec![0_i32; 1 << 17];
    let bytes = std::mem::size_of_val(&numbers[..]) as i32;
    // SAFETY: the call writes at most `bytes` bytes, which the list has.
    let count = unsafe { libc::proc_listallpids(numbers.as_mut_ptr().cast(), bytes) };
    numbers.truncate(usize::try_from(count).unwrap_or(0));
    numbers
}

#[cfg(target_os = "macos")]
pub fn process_facts(number: i32) -> Option<ProcessFacts> {
    // SAFETY: all zeros are a value of this structure of numbers.
    let mut info: libc::proc_bsdinfo = unsafe { std::mem::zeroed() };
    let (kind, size) = (libc::PROC_PIDTBSDINFO, size_of_val(&info) as i32);
    // SAFETY: the call writes at most `size` bytes, which the structure has.
    let written = unsafe { libc::proc_pidinfo(number, kind, 0, (&raw mut info).cast(), size) };
    (written == size).then(|| ProcessFacts {
        parent: info.pbi_ppid.cast_signed(),
        session: rustix::process::getsid(Pid::from_raw(number)).map_or(0, |pid| pid.as_raw_nonzero().get()),
        start: info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec,
        zombie: info.pbi_status == libc::SZOMB,
    })
}

#[cfg(not(target_os = "macos"))]
pub fn memory() -> Option<u64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = info.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(total.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1024)
}

#[cfg(target_os = "macos")]
pub fn memory() -> Option<u64> {
    let (mut bytes, mut size) = (0_u64, size_of::<u64>());
    let (name, place) = (c"hw.memsize".as_ptr(), (&raw mut bytes).cast());
    // SAFETY: the call writes at most `size` bytes, which the number has.
    let done = unsafe { libc::sysctlbyname(name, place, &raw mut size, std::ptr::null_mut(), 0) };
    (done == 0).then_some(bytes)
}

fn process(number: i32) -> Option<Pid> {
    Pid::from_raw(number).filter(|_| number > 1)
}

pub fn send(number: i32, signal: Signal) -> bool {
    process(number).is_some_and(|process| rustix::process::kill_process(process, signal).is_ok())
}

pub fn send_to_group(leader: i32, signal: Signal) {
    let _ = process(leader).map(|leader| rustix::process::kill_process_group(leader, signal));
}

pub fn group_lives(leader: i32) -> bool {
    process(leader).is_some_and(|leader| rustix::process::test_kill_process_group(leader).is_ok())
}

/// Stops this process and those that wait for it, such as a script; otherwise the shell would keep waiting.
pub fn stop_group() {
    let _ = rustix::process::kill_current_process_group(Signal::TSTP);
    let _ = rustix::process::kill_process(rustix::process::getpid(), Signal::STOP);
}

pub fn in_own_group(command: &mut Command) {
    command.process_group(0);
}

/// Fails only if this process already leads a session.
pub fn leave_session() {
    let _ = rustix::process::setsid();
}

pub fn end_with_parent() -> u32 {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    std::os::unix::process::parent_id()
}

/// For this process. macOS has no such limit.
pub fn limit_memory(bytes: u64) {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setrlimit(
        rustix::process::Resource::As,
        rustix::process::Rlimit { current: Some(bytes), maximum: Some(bytes) },
    );
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

pub fn become_program(command: &mut Command) -> io::Error {
    command.exec()
}

pub fn wait_for_end(child: &Child) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    let _ = rustix::process::waitid(WaitId::Pid(Pid::from_child(child)), options);
}

pub fn signal_of(status: ExitStatus) -> Option<i32> {
    status.signal()
}

pub fn on_signal(kind: Signal) -> io::Result<impl Stream<Item = ()>> {
    let signal = signal(SignalKind::from_raw(kind.as_raw()))?;
    Ok(unfold(signal, async |mut signal| signal.recv().await.map(|()| ((), signal))))
}

pub fn reader(pipe: io::PipeReader) -> io::Result<pipe::Receiver> {
    pipe::Receiver::from_owned_fd(pipe.into())
}

pub fn never_wait(pipe: &io::PipeReader) -> io::Result<()> {
    Ok(rustix::fs::fcntl_setfl(pipe, OFlags::NONBLOCK)?)
}

pub fn carries_input() -> bool {
    let kind = rustix::fs::fstat(io::stdin()).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::Socket | FileType::RegularFile))
}

pub fn input_comes(patience: Duration) -> bool {
    let (stdin, limit) = (io::stdin(), Timespec::try_from(patience).ok());
    let mut waited = [PollFd::new(&stdin, PollFlags::IN)];
    matches!(poll(&mut waited, limit.as_ref()), Ok(ready) if ready > 0)
}

/// Unbuffered, so that what isn't read here stays for others. Returns zero at the end or on errors.
pub fn read_input(bytes: &mut [u8]) -> usize {
    rustix::io::read(io::stdin(), bytes).unwrap_or(0)
}

pub fn read_from(file: &File) -> io::Result<()> {
    Ok(rustix::stdio::dup2_stdin(file)?)
}

/// Makes the system report the terminal's pending input again: setting unchanged attributes wakes every reader.
pub fn report_input_again() {
    if let Ok(attributes) = termios::tcgetattr(io::stdin()) {
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &attributes);
    }
}

pub struct WithoutEcho(Option<Termios>);

impl WithoutEcho {
    pub fn begin() -> Self {
        let before = termios::tcgetattr(io::stdin()).ok();
        if let Some(mut silent) = before.clone() {
            silent.local_modes.remove(LocalModes::ECHO);
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
        }
        Self(before)
    }
}

impl Drop for WithoutEcho {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, before);
            let _ = writeln!(io::stdout());
        }
    }
}

pub async fn input_hung_up() {
    let watched = rustix::io::dup(io::stdin()).ok().and_then(|file| {
        // SAFETY: the descriptor is owned, so it stays open and the same for as long as the registration lives.
        unsafe { AsyncFd::register_with_interest(file, Interest::ERROR) }.ok()
    });
    match watched {
        Some(watched) => drop(watched.ready(Interest::ERROR).await),
        None => std::future::pending().await,
    }
}

/// Above every number used for a helper or a shell.
const FREE_NUMBER: RawFd = 80;

/// Numbers below [`FREE_NUMBER`] that this process keeps occupied.
static RESERVED: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// Takes the file that the parent process put at `number`. Call only once per number.
pub fn inherited(number: RawFd) -> OwnedFd {
    // SAFETY: by agreement nothing else in this program uses the number.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Makes `file` open at `number` in the program that this process becomes.
pub fn place(file: &OwnedFd, number: RawFd) -> io::Result<()> {
    // SAFETY: not closed here: it is for the next program, and nothing in this one uses the number.
    let mut slot = unsafe { OwnedFd::from_raw_fd(number) };
    let placed =
        rustix::io::dup2(file, &mut slot).and_then(|()| rustix::io::fcntl_setfd(&slot, FdFlags::empty()));
    std::mem::forget(slot);
    Ok(placed?)
}

pub fn keep_open(file: File) -> io::Result<()> {
    rustix::io::fcntl_setfd(&file, FdFlags::empty())?;
    std::mem::forget(file);
    Ok(())
}

/// Starts `command` in its own session with these files open at these numbers.
pub fn start_with(command: &mut tokio::process::Command, mut files: Vec<(RawFd, OwnedFd)>) -> io::Result<()> {
    // No file may occupy another one's target number.
    for (_, file) in &mut files {
        *file = rustix::io::fcntl_dupfd_cloexec(&*file, FREE_NUMBER)?;
    }
    reserve(files.iter().map(|(number, _)| *number))?;
    // SAFETY: between fork and exec only async-signal-safe system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            files.iter().try_for_each(|(number, file)| place(file, *number))
        });
    }
    Ok(())
}

/// Occupies the numbers, because the standard library reports a failed exec on a pipe that `place` would overwrite.
fn reserve(numbers: impl Iterator<Item = RawFd>) -> io::Result<()> {
    let mut reserved = RESERVED.lock();
    let missing: Vec<RawFd> =
        numbers.filter(|number| reserved.iter().all(|file| file.as_raw_fd() != *number)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let null = rustix::io::fcntl_dupfd_cloexec(File::open("/dev/null")?, FREE_NUMBER)?;
    for number in missing {
        let file = rustix::io::fcntl_dupfd_cloexec(&null, number)?;
        if file.as_raw_fd() == number {
            reserved.push(file);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_its_parent() {
        let me = i32::try_from(std::process::id()).unwrap();
        let row = process_facts(me).unwrap();
        assert!(row.parent > 0 && row.start > 0 && !row.zombie && processes().contains(&me));
    }

    #[tokio::test]
    async fn failed_exec_is_reported_with_many_files_open() {
        let number = 60;
        let mut occupied = Vec::new();
        while occupied.last().is_none_or(|file: &File| file.as_raw_fd() < number - 1) {
            occupied.push(File::open("/dev/null").unwrap());
        }
        for _ in 0..20 {
            let files = (number..number + 3).map(|at| (at, File::open("/dev/null").unwrap().into()));
            let mut command = tokio::process::Command::new("/no/such/program");
            start_with(&mut command, files.collect()).unwrap();
            assert_eq!(command.spawn().unwrap_err().kind(), io::ErrorKind::NotFound);
        }
    }
}
