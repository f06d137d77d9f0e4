//! Descriptors with fixed numbers, for passing open files to another program. Besides `sandbox/linux/system`
//! the only unsafe code: the standard library has no safe way to own a descriptor by number.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use parking_lot::Mutex;
use rustix::io::FdFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Above every number used for a helper or a shell.
const FREE_NUMBER: RawFd = 80;

/// Numbers below [`FREE_NUMBER`] that this process keeps occupied.
static RESERVED: Mutex<Vec<OwnedFd>> = Mutex::new(Vec::new());

/// Takes the file that the parent process put at `number`. Call it once per number.
pub fn inherited(number: RawFd) -> OwnedFd {
    // SAFETY: by agreement nothing else in this program uses the number.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Makes `file` open at `number` in the program that this process execs.
pub fn place(file: &OwnedFd, number: RawFd) -> io::Result<()> {
    // SAFETY: not closed here: the descriptor is for the next program, and nothing in this one uses the
    // number.
    let mut slot = unsafe { OwnedFd::from_raw_fd(number) };
    let placed =
        rustix::io::dup2(file, &mut slot).and_then(|()| rustix::io::fcntl_setfd(&slot, FdFlags::empty()));
    std::mem::forget(slot);
    Ok(placed?)
}

/// Starts `command` in its own session with these files open at these numbers.
pub fn start_with(command: &mut tokio::process::Command, mut files: Vec<(RawFd, OwnedFd)>) -> io::Result<()> {
    // None of them may occupy another one's target number.
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

/// Keeps the numbers from the standard library, which reports a failed exec on a pipe that `place` would
/// overwrite in the new process.
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

/// Completes when the other end of the terminal or pipe is closed.
pub async fn hung_up(file: OwnedFd) {
    // SAFETY: the descriptor is owned, so it stays open and the same for as long as the registration lives.
    let watched = unsafe { AsyncFd::register_with_interest(file, Interest::ERROR) };
    match watched {
        Ok(watched) => drop(watched.ready(Interest::ERROR).await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

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
