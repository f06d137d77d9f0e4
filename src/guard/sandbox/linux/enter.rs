//! The helper, `mycode __confine`, which runs before any thread starts: the confined command's parent watches
//! the agent through a pipe and finally restores protected paths. If anything fails, the command doesn't run.
//! Without namespaces the processes are the same, and orphans are adopted and killed.

#![cfg(target_os = "linux")]

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, waitpid};
use rustix::thread::{CapabilitySet, CapabilitySets, LinkNameSpaceType, move_into_link_name_space};

use super::guard::protected_files::ProtectedFiles;
use super::guard::witness::{Reporter, Witness};
use super::landlock;
use super::mounts::{self, Outside};
use super::seccomp;
use super::supervisor;
use super::system;
use super::trial;
use crate::sandbox::launch::{KEEP_NETWORK, LIFELINE_FD, PROBE, READY_FD, SPEC_FD};
use crate::sandbox::private_folder;
use crate::sandbox::spec::{LaunchMode, SandboxSpec};
use base::system::os::inherited;

/// Exit codes for the helper's own failures: in a user's own call (configuration error), and for the agent.
const FAILED_FOREGROUND: i32 = 3;
const FAILED: i32 = 125;
/// Tags in the pipe from the first process: how the command ended, or why it didn't start.
const ENDED: u8 = b'S';
const NEVER_BEGAN: u8 = b'E';

enum WaitEnd {
    Exited,
    /// The agent is gone, or wants the command to end.
    Abandoned,
    Signaled(i32),
}

/// `args` follow the name: the side channel's descriptor or `-`, then the command.
pub fn run(mut args: Vec<OsString>) -> ! {
    match args.first() {
        Some(first) if first == PROBE => trial::run(),
        Some(first) if first == KEEP_NETWORK => keep_network(args.get(1).is_some_and(|word| word == "user")),
        _ => {}
    }
    let command = args.split_off(args.len().min(1));
    let side = args.pop().and_then(|text| text.to_str()?.parse::<RawFd>().ok());
    let mode = match read_spec() {
        Ok(mode) => mode,
        Err(error) => fail(false, &format!("its specification could not be read: {error}")),
    };
    match &mode {
        LaunchMode::Confined(spec) => confined(spec, &command, side),
        LaunchMode::Unconfined { alone, masks } => {
            supervisor::run((&command, masks), side, lifeline(false), *alone)
        }
    }
}

const LEFT_RUNNING: &str = "background processes were killed when the command exited; use `background: true` for what must keep running";

fn read_spec() -> io::Result<LaunchMode> {
    let mut file = File::from(inherited(SPEC_FD));
    let mut text = Vec::new();
    io::Seek::rewind(&mut file)?;
    file.read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "mycode: {text}");
}

fn fail(foreground: bool, why: &str) -> ! {
    say(&format!("the sandbox could not be set up, so the command did not run: {why}"));
    system::leave(if foreground { FAILED_FOREGROUND } else { FAILED })
}

fn lifeline(foreground: bool) -> Option<OwnedFd> {
    (!foreground).then(|| inherited(LIFELINE_FD))
}

fn confined(spec: &SandboxSpec, command: &[OsString], side: Option<RawFd>) -> ! {
    let foreground = spec.foreground;
    let refuse = |what: &str, error: io::Error| -> ! { fail(foreground, &format!("{what}: {error}")) };
    let lifeline = lifeline(foreground);
    let outside = Outside::find(spec);
    let (reports, report) = system::pipe().unwrap_or_else(|error| refuse("a pipe", error));
    let (wait, go) = system::pipe().unwrap_or_else(|error| refuse("a pipe", error));
    let flags = namespaces(spec).unwrap_or_else(|error| refuse("the session's network", error));
    let signals = system::take_signals(&[]).unwrap_or_else(|error| refuse("signals", error));
    let watched = Witness::new(spec, &outside.snapshot.paths());
    let (mut witness, reporter) = watched.unwrap_or_else(|error| refuse("a pair of sockets", error));
    if !spec.layers.namespaces {
        supervisor::adopt_orphans();
    }
    let first = system::clone_into(flags).unwrap_or_else(|error| refuse("namespaces", error));
    if first == 0 {
        drop((reports, go, lifeline, signals, witness));
        first_process(spec, &outside, command, side, wait, report, &reporter);
    }
    drop((report, wait, reporter));
    if flags & libc::CLONE_NEWUSER != 0
        && let Err(error) = system::map_user(first)
    {
        supervisor::kill(first);
        refuse("the user namespace", error);
    }
    let _ = rustix::io::write(&go, b"g");
    let end = wait_for(first, lifeline.as_ref(), &signals, foreground, &mut witness);
    if !matches!(end, WaitEnd::Exited) {
        supervisor::kill(first);
    }
    let _ = waitpid(Pid::from_raw(first), WaitOptions::empty());
    if !spec.layers.namespaces {
        supervisor::end_all();
    }
    let mut text = Vec::new();
    let _ = File::from(reports).read_to_end(&mut text);
    drop(go);
    witness.kept_out().iter().for_each(|why| say(why));
    finish(spec, &outside.snapshot, witness);
    match (end, text.split_first()) {
        (WaitEnd::Signaled(signal), _) => system::leave(128 + signal),
        (_, Some((&NEVER_BEGAN, why))) => {
            // A zero byte and the failed process's exit status follow.
            let why = why.split(|byte| *byte == 0).next().unwrap_or_default();
            fail(foreground, &String::from_utf8_lossy(why))
        }
        (_, Some((&ENDED, rest))) => {
            let (status, left) = rest.split_at_checked(4).unwrap_or((rest, &[]));
            if left == [1] {
                say(LEFT_RUNNING);
            }
            supervisor::end_like(status.try_into().map_or(libc::SIGKILL, i32::from_le_bytes), foreground)
        }
        _ => supervisor::end_like(libc::SIGKILL, foreground),
    }
}

/// The flags of the namespaces to create. Joins the session's namespaces first.
fn namespaces(spec: &SandboxSpec) -> io::Result<i32> {
    if !spec.layers.namespaces {
        return Ok(0);
    }
    let shared = join_network(spec)?;
    let network = if spec.network || shared { 0 } else { libc::CLONE_NEWNET };
    // The shared network has its own user namespace.
    let user = if spec.layers.user_namespace && !shared { libc::CLONE_NEWUSER } else { 0 };
    Ok(libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | network | user)
}

fn finish(spec: &SandboxSpec, snapshot: &ProtectedFiles, witness: Witness) {
    for sentence in snapshot.restore(&witness.evidence()) {
        say(&sentence);
    }
    if spec.foreground {
        private_folder::remove(&spec.private);
    }
}

fn wait_for(
    pid: i32,
    lifeline: Option<&OwnedFd>,
    signals: &OwnedFd,
    foreground: bool,
    witness: &mut Witness,
) -> WaitEnd {
    let Some(process) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return WaitEnd::Abandoned;
    };
    loop {
        let mut fds = vec![PollFd::new(&process, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        fds.extend(lifeline.map(|fd| PollFd::new(fd, PollFlags::IN)));
        let watched = witness.waits_for();
        fds.extend(watched.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let reported = watched.and_then(|_| fds.pop()).map(|fd| fd.revents());
        if !fds[0].revents().is_empty() {
            return WaitEnd::Exited;
        }
        if fds.get(2).is_some_and(|fd| !fd.revents().is_empty()) {
            return WaitEnd::Abandoned;
        }
        // The agent signals the command itself; only a user's own call ends on a signal.
        if !fds[1].revents().is_empty()
            && let Some(signal) = system::next_signal(signals)
            && foreground
        {
            return WaitEnd::Signaled(signal);
        }
        if let Some(events) = reported {
            witness.look(events);
        }
    }
}

/// The first process of the namespaces: builds the file tree, starts the command, collects orphans.
fn first_process(
    spec: &SandboxSpec,
    outside: &Outside,
    command: &[OsString],
    side: Option<RawFd>,
    wait: OwnedFd,
    report: OwnedFd,
    reporter: &Reporter,
) -> ! {
    let mut report = File::from(report);
    let refuse = |report: &mut File, why: String| -> ! {
        let _ = report.write_all(&[&[NEVER_BEGAN], why.as_bytes(), &[0]].concat());
        system::leave(1)
    };
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // Wait until the parent has mapped our user. If it is gone, there is nothing left to do.
    if rustix::io::read(&wait, &mut [0_u8; 1]) != Ok(1) {
        system::leave(1);
    }
    system::go_first();
    if spec.layers.namespaces {
        if let Err(why) = mounts::build(spec, outside) {
            refuse(&mut report, why);
        }
        if !spec.network
            && let Err(error) = system::loopback_up()
        {
            refuse(&mut report, format!("the loopback interface: {error}"));
        }
        system::limit_processes(system::MAX_PROCESSES);
    } else {
        supervisor::adopt_orphans();
    }
    if let Err(error) = drop_rights(spec) {
        refuse(&mut report, format!("capabilities: {error}"));
    }
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let child = system::clone_into(0).unwrap_or_else(|error| refuse(&mut report, format!("fork: {error}")));
    if child == 0 {
        let why = become_command(spec, reporter, command, side);
        refuse(&mut report, why);
    }
    // The command's pipes must close when it ends, not when we do.
    system::release_files(side);
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == child => {
                let status = status.as_raw().to_le_bytes();
                let left = u8::from(side.is_some() && supervisor::someone_is_left());
                let _ = report.write_all(&[&[ENDED], &status[..], &[left]].concat());
                system::leave(0);
            }
            Err(rustix::io::Errno::CHILD) => system::leave(1),
            _ => {}
        }
    }
}

fn drop_rights(spec: &SandboxSpec) -> io::Result<()> {
    let kept = if spec.foreign_owner && !spec.layers.user_namespace {
        CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER
    } else {
        CapabilitySet::empty()
    };
    system::give_up(CapabilitySet::all() - kept)?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: kept };
    rustix::thread::set_capabilities(None, sets)?;
    for capability in kept.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Applies the remaining restrictions and becomes the command; returns only on failure, with the reason.
fn become_command(
    spec: &SandboxSpec,
    reporter: &Reporter,
    command: &[OsString],
    side: Option<RawFd>,
) -> String {
    // No terminal, and a process group that no outside signal reaches by accident.
    let _ = rustix::process::setsid();
    system::reset_signals();
    let (cwd, layers): (&Path, _) = (&spec.cwd, spec.layers);
    if let Err(error) = rustix::process::chdir(cwd) {
        return format!("can't change to {} in the sandbox: {}", cwd.display(), io::Error::from(error));
    }
    if layers.landlock
        && let Err(error) = landlock::restrict(spec)
    {
        return format!("Landlock: {error}");
    }
    system::close_the_rest(side);
    if layers.seccomp {
        reporter.begin();
        if let Err(error) = seccomp::restrict(!layers.namespaces, !layers.namespaces && !spec.network) {
            return format!("seccomp: {error}");
        }
    }
    // The watcher must be able to read what each process starts, including this one.
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
    system::start(command, &spec.environment)
}

/// Keeps a namespace until the agent is gone.
fn keep_network(user_namespace: bool) -> ! {
    let _ = rustix::process::setsid();
    let made = system::unshare(libc::CLONE_NEWNET, user_namespace).and_then(|()| system::loopback_up());
    if made.is_err() {
        system::leave(1);
    }
    system::go_first();
    // Closing this pipe tells others that the namespace is ready.
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
    let _ = io::stdin().read(&mut [0]);
    system::leave(0)
}

/// Moves this process into the session's namespace; `false` if there is none.
fn join_network(spec: &SandboxSpec) -> io::Result<bool> {
    let Some(keeper) = spec.shared_network.filter(|_| !spec.network) else { return Ok(false) };
    let _ = File::from(inherited(READY_FD)).read(&mut [0]);
    let open = |kind: &str| File::open(format!("/proc/{keeper}/ns/{kind}"));
    let (Ok(user), Ok(network)) = (open("user"), open("net")) else { return Ok(false) };
    // A keeper that failed is still in the machine's network.
    if network.metadata()?.ino() == fs::metadata("/proc/self/ns/net")?.ino() {
        return Ok(false);
    }
    if spec.layers.user_namespace {
        move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(true)
}
