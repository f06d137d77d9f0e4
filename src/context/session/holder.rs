//! Which process has a session open, and ending it.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::log::SessionLog;

const PATIENCE: Duration = Duration::from_secs(5);

/// The mycode process that has locked a log, from `/proc/locks` (proc_locks(5): kind, mode, process,
/// `major:minor:inode`).
pub fn holder(log: &Path) -> Option<Pid> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = std::fs::metadata(log).ok()?.ino().to_string();
    let own = std::env::current_exe().ok()?;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, process, place, ..] = words.as_slice() else { return None };
        let program = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
        let is_it = place.rsplit(':').next() == Some(&inode) && program.file_name() == own.file_name();
        is_it.then(|| Pid::from_raw(process.parse().ok()?)).flatten()
    })
}

/// Asks the process to exit as if its terminal closed; returns whether the log is free then.
pub fn end(holder: Pid, log: &Path) -> bool {
    if kill_process(holder, Signal::TERM).is_err() {
        return false;
    }
    let deadline = Instant::now() + PATIENCE;
    // `open` waits a moment for the lock.
    while Instant::now() < deadline {
        if SessionLog::open(log).is_ok() {
            return true;
        }
    }
    false
}
