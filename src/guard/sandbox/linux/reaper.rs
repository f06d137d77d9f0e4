//! Ending everything that a command has started when there is no process namespace to do it: orphans come to this process,
//! and are killed until none is left.
#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, WaitOptions};

use super::system;
use base::process::reap;

/// Rounds of killing: a process can start another between the look and the signal.
const ROUNDS: usize = 200;

/// Rounds of waiting for those that end by themselves.
const ENDING_ROUNDS: usize = 10;

/// Orphaned descendants become children of this process.
pub fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Kills all descendants and waits for them.
pub fn end_all() {
    let own = rustix::process::getpid();
    for _ in 0..ROUNDS {
        reap::kill_descendants(own.as_raw_nonzero().get());
        // Collect whatever has ended; when there are no children at all, nothing is left.
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Whether children go on living; what is just about to end gets a moment for it.
pub fn someone_is_left() -> bool {
    for _ in 0..ENDING_ROUNDS {
        loop {
            match rustix::process::wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return false,
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    true
}

/// Kills one process.
pub fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Ends this process as the command ended. A user's own call ends with a code, as in a shell.
pub fn end_like(status: i32, foreground: bool) -> ! {
    if libc::WIFEXITED(status) {
        system::leave(libc::WEXITSTATUS(status));
    }
    let signal = libc::WTERMSIG(status);
    if foreground {
        system::leave(128 + signal);
    }
    system::die_of(signal)
}
