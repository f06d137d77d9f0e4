//! Finds and ends every process that a command left or started: its session, its group and its descendants.

use std::collections::HashSet;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

/// Identified by start time too, because numbers are reused.
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
        read_row(self.pid).is_some_and(|row| row.process == *self && !row.zombie)
    }
}

struct ProcessInfo {
    process: Process,
    parent: i32,
    session: i32,
    zombie: bool,
}

/// All processes of the command whose session leader is `leader`. Empty without `/proc`.
pub fn family(leader: i32) -> Vec<Process> {
    let rows: Vec<ProcessInfo> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(read_row)
        .collect();
    let mut members: HashSet<i32> = HashSet::from([leader]);
    loop {
        let before = members.len();
        for row in &rows {
            if row.session == leader || members.contains(&row.parent) {
                members.insert(row.process.pid);
            }
        }
        if members.len() == before {
            break;
        }
    }
    rows.into_iter()
        .filter(|row| members.contains(&row.process.pid) && !row.zombie)
        .map(|row| row.process)
        .collect()
}

fn read_row(pid: i32) -> Option<ProcessInfo> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain spaces and parentheses.
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    let zombie = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let start = fields.nth(15)?.parse().ok()?;
    Some(ProcessInfo { process: Process { pid, start }, parent, session, zombie })
}

fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid).filter(|_| pid > 1) {
        let _ = rustix::process::kill_process(pid, signal);
    }
}

pub fn kill_descendants(ancestor: i32) {
    for process in family(ancestor).into_iter().filter(|process| process.pid != ancestor) {
        send(process.pid, Signal::KILL);
    }
}

/// Sends `signal` to the group of `leader` and to every relative outside it.
pub fn signal_all(leader: i32, signal: Signal) {
    let family = family(leader);
    if let Some(group) = Pid::from_raw(leader).filter(|_| leader > 1) {
        let _ = rustix::process::kill_process_group(group, signal);
    }
    for process in family {
        send(process.pid, signal);
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
    Lifeline { _held: OwnedFd },
}

impl Leftovers {
    /// Records what is still alive of the command; returns the number of processes. With a `lifeline`,
    /// processes in the leader's own session are only keepers and don't count.
    pub fn note(&self, command: &str, leader: i32, lifeline: Option<OwnedFd>) -> usize {
        let mut alive = family(leader);
        alive.retain(|process| {
            let is_keeper = || read_row(process.pid).is_some_and(|row| row.session == leader);
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

    /// The commands of which something still runs.
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
                && read_row(process.pid).is_some_and(|row| row.process == process)
            {
                send(process.pid, Signal::KILL);
            }
        }
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_its_parent() {
        let me = i32::try_from(std::process::id()).unwrap_or(0);
        let row = read_row(me);
        assert!(
            row.as_ref().is_some_and(|row| row.process.pid == me && !row.zombie && row.process.start > 0)
        );
        assert!(row.is_some_and(|row| row.parent > 0));
    }
}
