//! Runs an unconfined command so that neither it nor its servers outlive the agent: a keeper process holds the agent's
//! lifeline while anything of the command runs, however the agent ends. Without a process namespace, it also
//! ends everything that a confined command started: orphans are adopted and killed.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{OwnedFd, RawFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, WaitOptions, waitpid};

use super::guard::witness::{Reporter, Witness};
use super::mounts;
use super::system::{self, NOT_STARTED};
use crate::sandbox::spec::Masks;
use base::process::reap;

const STDERR: RawFd = 2;

/// A command, and what it must not see or change.
type Started<'a> = (&'a [OsString], &'a Masks);

/// Starts the keeper and ends when the command does. The keeper may continue or, with `alone`, kills what is left.
pub fn run(command: Started, side: Option<RawFd>, lifeline: Option<OwnedFd>, alone: bool) -> ! {
    let refuse = |what: &str, error: io::Error| -> ! {
        let _ = writeln!(io::stderr(), "mycode: the command did not run: {what}: {error}");
        system::leave(NOT_STARTED)
    };
    let (reports, report) = system::pipe().unwrap_or_else(|error| refuse("a pipe", error));
    let signals = system::take_signals(&[libc::SIGCHLD]).unwrap_or_else(|error| refuse("signals", error));
    let pid = system::clone_into(0).unwrap_or_else(|error| refuse("fork", error));
    if pid == 0 {
        drop(reports);
        keep(command, side, lifeline, &signals, File::from(report), alone);
    }
    drop((report, lifeline, signals));
    let mut said = Vec::new();
    let _ = File::from(reports).read_to_end(&mut said);
    match said.split_first_chunk::<5>() {
        Some(([status @ .., left], kept_out)) => {
            let _ = io::stderr().write_all(kept_out);
            if *left == 0 {
                // The keeper must not count as a leftover process.
                let _ = waitpid(Pid::from_raw(pid), WaitOptions::empty());
            }
            end_like(i32::from_le_bytes(*status), false)
        }
        // The keeper ended everything at the agent's request.
        None => end_like(libc::SIGKILL, false),
    }
}

fn keep(
    command: Started,
    side: Option<RawFd>,
    lifeline: Option<OwnedFd>,
    signals: &OwnedFd,
    report: File,
    alone: bool,
) -> ! {
    adopt_orphans();
    let is_watched = command.1.judges_starts() || command.1.has_files();
    let watched = is_watched.then(|| Witness::of_unconfined(command.1)).and_then(Result::ok);
    let (mut witness, reporter) = watched.unzip();
    let mut report = Some(report);
    let child = match system::clone_into(0) {
        Ok(0) => become_command(command, reporter, side),
        Ok(child) => child,
        Err(_) => system::leave(NOT_STARTED),
    };
    drop(reporter);
    // The command's pipes must close when it ends.
    system::release_files(side);
    system::release_files(Some(STDERR));
    let mut running = true;
    loop {
        let kept_out = || witness.as_mut().map(Witness::kept_out).unwrap_or_default();
        if !collect(child, &mut running, &mut report, kept_out, alone) {
            system::leave(0);
        }
        let mut fds = vec![PollFd::new(signals, PollFlags::IN)];
        fds.extend(lifeline.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
        let reporting = witness.as_ref().and_then(Witness::waits_for);
        fds.extend(reporting.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let reported = reporting.and_then(|_| fds.pop()).map(|fd| fd.revents());
        if fds.get(1).is_some_and(|fd| !fd.revents().is_empty()) {
            if running {
                kill(child);
            }
            end_all();
            system::leave(0);
        }
        if !fds[0].revents().is_empty() {
            // Children are checked above; the agent sends other signals to the command itself.
            let _ = system::next_signal(signals);
        }
        if let (Some(events), Some(witness)) = (reported, &mut witness) {
            witness.look(events);
        }
    }
}

/// Reports the command's end; returns whether any process is left.
fn collect(
    child: i32,
    running: &mut bool,
    report: &mut Option<File>,
    mut kept_out: impl FnMut() -> BTreeSet<String>,
    alone: bool,
) -> bool {
    loop {
        let (pid, status) = match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(ended)) => ended,
            Ok(None) => return true,
            Err(_) => return false,
        };
        if !*running || pid.as_raw_nonzero().get() != child {
            continue;
        }
        *running = false;
        if alone {
            end_all();
        }
        let left = !alone && someone_is_left();
        let status = status.as_raw().to_le_bytes();
        let kept_out: String = kept_out().iter().map(|why| format!("mycode: {why}\n")).collect();
        if let Some(mut report) = report.take() {
            let _ = report.write_all(&[&status[..], &[u8::from(left)], kept_out.as_bytes()].concat());
        }
        if !left {
            return false;
        }
    }
}

fn become_command((command, masks): Started, reporter: Option<Reporter>, side: Option<RawFd>) -> ! {
    if let Some(reporter) = reporter {
        reporter.begin();
    }
    if masks.has_files()
        && let Err(why) = mounts::mask(masks)
    {
        let _ = writeln!(io::stderr(), "mycode: the command did not run: denied files stay visible: {why}");
        system::leave(NOT_STARTED)
    }
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let _ = rustix::process::setsid();
    system::reset_signals();
    system::close_the_rest(side);
    system::start(command, &[])
}

/// Rounds of killing, because a process can start another between the scan and the signal.
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

/// Ends this process like the command ended. A user's own call exits with a code, as in a shell.
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
