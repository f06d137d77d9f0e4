//! Files and processes as seen by a watched process, found from its numbers and paths.
#![cfg(target_os = "linux")]

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags, fstat, open, openat2};

use super::handles::Identity;
use base::process::reap;

const MAX_LINKS: usize = 8;

pub fn opened_as(pid: i32, fd: u64) -> io::Result<PathBuf> {
    // The kernel reads 32 bits.
    fs::read_link(format!("/proc/{pid}/fd/{}", fd as i32))
}

/// The file whose mode, times or attributes would change.
pub fn altered(pid: i32, base: Option<u64>, path: &Path, follows: bool) -> io::Result<PathBuf> {
    let parts: Vec<_> = path.iter().filter_map(|part| part.to_str()).collect();
    match (&parts[..], base) {
        ([], Some(fd)) => return opened_as(pid, fd),
        (["/", "proc", _, "fd", fd] | ["/", "dev", "fd", fd], _) if follows => {
            return fs::read_link(format!("/proc/{pid}/fd/{fd}"));
        }
        _ => {}
    }
    let flags = OFlags::PATH | OFlags::CLOEXEC | if follows { OFlags::empty() } else { OFlags::NOFOLLOW };
    let (file, _) = open_as(pid, base, path, flags)?;
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

pub fn is_own_process(caller: i32, number: u64) -> bool {
    let number = number as i32;
    let own = rustix::process::getpid().as_raw_nonzero().get();
    Path::new(&format!("/proc/{caller}/task/{number}")).exists()
        || reap::family(own).iter().any(|one| one.number() == number.unsigned_abs() && number != own)
}

fn base_of(pid: i32, base: Option<u64>, path: &Path) -> String {
    // The kernel reads 32 bits.
    let fd = base.map_or(libc::AT_FDCWD, |fd| fd as i32);
    match () {
        () if path.is_absolute() => format!("/proc/{pid}/root"),
        () if fd == libc::AT_FDCWD => format!("/proc/{pid}/cwd"),
        () => format!("/proc/{pid}/fd/{fd}"),
    }
}

/// Where a path leads if its last part is a link, possibly a broken one.
pub fn follow(pid: i32, base: Option<u64>, mut path: PathBuf) -> PathBuf {
    for _ in 0..MAX_LINKS {
        let real = Path::new(&base_of(pid, base, &path)).join(path.strip_prefix("/").unwrap_or(&path));
        let Ok(target) = fs::read_link(real) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// The folder as the process sees it. Doesn't follow links of `/proc`, which would lead to our own files.
pub fn resolve(pid: i32, base: Option<u64>, folder: &Path) -> io::Result<(OwnedFd, Identity)> {
    open_as(pid, base, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC)
}

pub fn open_as(pid: i32, base: Option<u64>, path: &Path, flags: OFlags) -> io::Result<(OwnedFd, Identity)> {
    let base = open(base_of(pid, base, path), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let rest = path.strip_prefix("/").unwrap_or(path);
    let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
    let handle = openat2(&base, rest, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS)?;
    let identity = Identity::of(&fstat(&handle)?);
    Ok((handle, identity))
}
