//! Finds and ends every process that a command left or started: its session, its group and its descendants.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{programs, timeout};
use crate::system::os::{self, Handle, ProcessFacts, Signal};

/// Length limit of a name in `/proc/PID/comm`.
const COMM_BYTES: usize = 15;
const LSOF: Duration = Duration::from_secs(5);

/// Identified by start time as well, because numbers are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    pid: i32,
    start: u64,
}

impl Process {
    pub fn number(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    pub fn lives(&self) -> bool {
        os::process_facts(self.pid).is_some_and(|row| row.start == self.start && !row.zombie)
    }
}

pub fn family(leader: i32) -> Vec<Process> {
    let rows: Vec<(i32, ProcessFacts)> =
        os::processes().into_iter().filter_map(|pid| Some((pid, os::process_facts(pid)?))).collect();
    let mut members: HashSet<i32> = HashSet::from([leader]);
    loop {
        let before = members.len();
        for (pid, row) in &rows {
            if row.session == leader || members.contains(&row.parent) {
                members.insert(*pid);
            }
        }
        if members.len() == before {
            break;
        }
    }
    rows.into_iter()
        .filter(|(pid, row)| members.contains(pid) && !row.zombie)
        .map(|(pid, row)| Process { pid, start: row.start })
        .collect()
}

/// Our program's process that locked a file, from `/proc/locks` (proc_locks(5)) or else the one that has it open.
pub fn holder(file: &Path) -> Option<i32> {
    let own = programs::own().ok()?;
    let name = own.file_name()?.to_string_lossy();
    let inode = os::facts(&std::fs::metadata(file).ok()?).id.1.to_string();
    let Ok(locks) = std::fs::read_to_string("/proc/locks") else {
        let mut lsof = Command::new("lsof");
        lsof.args(["-t", "-a", "-c", &name]).arg("--").arg(file);
        let found = timeout::ask(&mut lsof, b"", LSOF)?;
        return str::from_utf8(&found).ok()?.lines().next()?.parse().ok();
    };
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, "FLOCK", _, _, process, place, ..] = words.as_slice() else { return None };
        // Its `exe` can't be read by other programs of this user.
        let program = std::fs::read_to_string(format!("/proc/{process}/comm")).ok()?;
        let is_ours = name.as_bytes().chunks(COMM_BYTES).next() == Some(program.trim_end().as_bytes());
        let is_it = place.rsplit(':').next() == Some(&inode) && is_ours;
        is_it.then(|| process.parse().ok()).flatten()
    })
}

pub fn kill_descendants(ancestor: i32) {
    for process in family(ancestor).into_iter().filter(|process| process.pid != ancestor) {
        os::send(process.pid, Signal::KILL);
    }
}

/// Signals the group of `leader` and every relative outside it.
pub fn signal_all(leader: i32, signal: Signal) {
    let family = family(leader);
    os::send_to_group(leader, signal);
    for process in family {
        os::send(process.pid, signal);
    }
}

/// Processes that outlived their command (`server &`). Dropping this kills them.
#[derive(Debug, Default)]
pub struct Leftovers(Mutex<Vec<Survivors>>);

#[derive(Debug)]
enum Survivors {
    /// Killed by its number.
    Process { process: Process, command: Arc<str> },
    /// Closing it ends everything that depends on it.
    Lifeline { _held: Handle },
}

impl Leftovers {
    /// Returns the number of living processes. With a `lifeline`, those in the leader's own session are only keepers.
    pub fn note(&self, command: &str, leader: i32, lifeline: Option<Handle>) -> usize {
        let mut alive = family(leader);
        alive.retain(|process| {
            let is_keeper = || os::process_facts(process.pid).is_some_and(|row| row.session == leader);
            process.pid != leader && !(lifeline.is_some() && is_keeper())
        });
        let count = alive.len();
        let mut all = self.0.lock();
        let command: Arc<str> = command.into();
        all.extend(
            alive.into_iter().map(|process| Survivors::Process { process, command: Arc::clone(&command) }),
        );
        all.extend(lifeline.map(|held| Survivors::Lifeline { _held: held }));
        count
    }

    /// The commands of which something is still running.
    pub fn commands(&self) -> Vec<Arc<str>> {
        let mut found: Vec<Arc<str>> = Vec::new();
        for left in self.0.lock().iter() {
            if let Survivors::Process { process, command } = left
                && process.lives()
                && !found.contains(command)
            {
                found.push(Arc::clone(command));
            }
        }
        found
    }

    pub fn kill(&self) {
        for left in self.0.lock().drain(..) {
            if let Survivors::Process { process, .. } = left
                && process.lives()
            {
                os::send(process.pid, Signal::KILL);
            }
        }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        self.kill();
    }
}
