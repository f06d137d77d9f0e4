//! Descriptors with agreed numbers, by which a program hands open files to the one that it starts or becomes. With
//! `sandbox/linux/system` the only place for unsafe code: the standard library takes a number for an owned descriptor only so.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use rustix::io::FdFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Above every number that a helper or a shell is told of.
const FREE_NUMBER: RawFd = 80;

/// Takes the file that whoever started this program has put at `number` for it. To be called once for each.
pub fn inherited(number: RawFd) -> OwnedFd {
    // SAFETY: by agreement nothing else in this program uses the number.
    unsafe { OwnedFd::from_raw_fd(number) }
}

/// Makes `file` open at `number` in the program that this process becomes.
pub fn place(file: &OwnedFd, number: RawFd) -> io::Result<()> {
    // SAFETY: the descriptor is not closed here: it is for the next program, and nothing in this one uses the number.
    let mut slot = unsafe { OwnedFd::from_raw_fd(number) };
    let placed =
        rustix::io::dup2(file, &mut slot).and_then(|()| rustix::io::fcntl_setfd(&slot, FdFlags::empty()));
    std::mem::forget(slot);
    Ok(placed?)
}

/// Has `command` start in a session of its own, with these files open at these numbers.
pub fn start_with(command: &mut tokio::process::Command, mut files: Vec<(RawFd, OwnedFd)>) -> io::Result<()> {
    // None of them may sit where another is going to be put.
    for (_, file) in &mut files {
        *file = rustix::io::fcntl_dupfd_cloexec(&*file, FREE_NUMBER)?;
    }
    // SAFETY: between fork and exec only async-signal-safe system calls are made, and nothing is allocated.
    unsafe {
        command.pre_exec(move || {
            rustix::process::setsid()?;
            files.iter().try_for_each(|(number, file)| place(file, *number))
        });
    }
    Ok(())
}

/// Ends when nobody is left at the other end of the terminal or pipe.
pub async fn hung_up(file: OwnedFd) {
    // SAFETY: the descriptor is owned, so it stays open and the same for as long as the registration lives.
    let watched = unsafe { AsyncFd::register_with_interest(file, Interest::ERROR) };
    match watched {
        Ok(watched) => drop(watched.ready(Interest::ERROR).await),
        Err(_) => std::future::pending().await,
    }
}
