//! Without a process namespace, ends everything that a command started: orphans are adopted and killed.
#![cfg(target_os = "linux")]

use rustix::process::{Pid, Signal, WaitOptions};

use super::system;
use base::process::reap;

/// Rounds of killing: a process can start another between the scan and the signal.
const ROUNDS: usize = 200;

const ENDING_ROUNDS: usize = 10;

pub fn adopt_orphans() {
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

pub fn end_all() {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    remain_after(ROUNDS, || reap::kill_descendants(own));
}

/// Whether children remain; those about to end get a moment.
pub fn someone_is_left() -> bool {
    remain_after(ENDING_ROUNDS, || {})
}

/// Collects the children that have ended; ends early when none are left.
fn remain_after(rounds: usize, each: impl Fn()) -> bool {
    for _ in 0..rounds {
        each();
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

pub fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Ends this process the way the command ended. A user's own call exits with a code, as in a shell.
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
