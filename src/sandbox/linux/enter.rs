//! The child's side: what `mycode __confine` does before any thread is started. It becomes the parent of the confined
//! command, whose namespaces die with their first process; it watches the agent through a pipe and outlives the command
//! only to put the workspace right. Whatever fails, the command does not run.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, waitpid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::guard::Snapshot;
use super::landlock;
use super::mounts::{self, CacheFolder};
use super::reaper;
use super::seccomp;
use super::sockets;
use super::supervisor;
use super::system;
use crate::sandbox::launch::{LIFELINE_FD, PLAN_FD};
use crate::sandbox::plan::remove_private;
use crate::sandbox::probe::PROBE;
use crate::sandbox::spec::{LaunchMode, SandboxSpec};
use crate::sandbox::trial;

/// Exit codes of the helper itself: for a user's own call, the one for configuration errors; for the agent, one that
/// shells use for "could not be run".
const FAILED_DIRECT: i32 = 3;
const FAILED: i32 = 125;
/// Marks in the pipe from the first process: how the command ended, or why it did not begin.
const ENDED: u8 = b'S';
const NEVER_BEGAN: u8 = b'E';

/// How the watch over the command ended.
enum End {
    /// By itself.
    Itself,
    /// The agent is gone, or wants it to end.
    Abandoned,
    /// A signal to this process.
    Signal(i32),
}

/// Runs the helper; `args` are those behind its name: the descriptor for the side channel or `-`, then the command.
pub fn run(mut args: Vec<OsString>) -> ! {
    if args.first().is_some_and(|first| first == PROBE) {
        trial::run();
    }
    let command = args.split_off(args.len().min(1));
    let side = args.pop().and_then(|text| text.to_str()?.parse::<RawFd>().ok());
    let wrapping = match read_plan() {
        Ok(wrapping) => wrapping,
        Err(error) => fail(false, &format!("its plan could not be read: {error}")),
    };
    let direct = matches!(&wrapping, LaunchMode::Confined(plan) if plan.direct);
    match &wrapping {
        LaunchMode::Confined(plan) if plan.layers.namespaces => in_namespaces(plan, &command, side),
        LaunchMode::Confined(plan) => in_place(Some(plan), &command, side, direct),
        LaunchMode::Kept => in_place(None, &command, side, direct),
        LaunchMode::Lingering => supervisor::run(&command, side, lifeline(false)),
    }
}

/// What a call is told that left something running behind its back.
const LEFT_RUNNING: &str =
    "what the command left running was ended with it; start it with `background: true` if it must go on";

fn read_plan() -> io::Result<LaunchMode> {
    // SAFETY: the descriptor was put there for us by `launch`, and nothing else uses it.
    let mut file = unsafe { File::from_raw_fd(PLAN_FD) };
    let mut text = Vec::new();
    io::Seek::rewind(&mut file)?;
    file.read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "mycode: {text}");
}

fn fail(direct: bool, why: &str) -> ! {
    say(&format!("the sandbox could not be set up, so the command did not run: {why}"));
    system::leave(if direct { FAILED_DIRECT } else { FAILED })
}

/// The lifeline, unless this is a user's own call.
fn lifeline(direct: bool) -> Option<OwnedFd> {
    // SAFETY: the descriptor was put there for us by `launch`, and nothing else uses it.
    (!direct).then(|| unsafe { OwnedFd::from_raw_fd(LIFELINE_FD) })
}

fn in_namespaces(plan: &SandboxSpec, command: &[OsString], side: Option<RawFd>) -> ! {
    let direct = plan.direct;
    let refuse = |what: &str, error: io::Error| -> ! { fail(direct, &format!("{what}: {error}")) };
    let lifeline = lifeline(direct);
    let stock = Snapshot::take(plan, true);
    let sockets = sockets::outside(plan);
    let caches = CacheFolder::take(&plan.private).filter(|_| !plan.caches.is_empty());
    let (reports, report) = system::pipe().unwrap_or_else(|error| refuse("a pipe", error));
    let (wait, go) = system::pipe().unwrap_or_else(|error| refuse("a pipe", error));
    let mut flags = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    if !plan.network {
        flags |= libc::CLONE_NEWNET;
    }
    if plan.layers.user_namespace {
        flags |= libc::CLONE_NEWUSER;
    }
    let signals = system::take_signals(&[]).unwrap_or_else(|error| refuse("signals", error));
    let first = system::clone_into(flags).unwrap_or_else(|error| refuse("namespaces", error));
    if first == 0 {
        drop((reports, go, lifeline, signals));
        first_process(plan, &stock, &sockets, caches.as_ref(), command, side, wait, report);
    }
    drop((report, wait));
    if plan.layers.user_namespace
        && let Err(error) = system::map_user(first)
    {
        reaper::kill(first);
        refuse("the user namespace", error);
    }
    let _ = rustix::io::write(&go, b"g");
    let end = watch(first, lifeline.as_ref(), &signals, direct);
    if !matches!(end, End::Itself) {
        reaper::kill(first);
    }
    let _ = waitpid(Pid::from_raw(first), WaitOptions::empty());
    let mut text = Vec::new();
    let _ = File::from(reports).read_to_end(&mut text);
    drop(go);
    put_right(plan, &stock);
    match (end, text.split_first()) {
        (End::Signal(signal), _) => system::leave(128 + signal),
        (_, Some((&NEVER_BEGAN, why))) => fail(direct, &String::from_utf8_lossy(why)),
        (_, Some((&ENDED, rest))) => {
            let (status, left) = rest.split_at_checked(4).unwrap_or((rest, &[]));
            if left == [1] {
                say(LEFT_RUNNING);
            }
            reaper::end_like(status.try_into().map_or(libc::SIGKILL, i32::from_le_bytes), direct)
        }
        _ => reaper::end_like(libc::SIGKILL, direct),
    }
}

fn put_right(plan: &SandboxSpec, stock: &Snapshot) {
    for sentence in stock.put_right(&plan.private.join("aside")) {
        say(&sentence);
    }
    if plan.direct {
        remove_private(&plan.private);
    }
}

/// Waits until the process has ended, the agent is gone, or a signal came.
fn watch(pid: i32, lifeline: Option<&OwnedFd>, signals: &OwnedFd, direct: bool) -> End {
    let Some(process) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else {
        return End::Abandoned;
    };
    loop {
        let mut fds = vec![PollFd::new(&process, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        fds.extend(lifeline.map(|fd| PollFd::new(fd, PollFlags::IN)));
        if poll(&mut fds, None).is_err() {
            continue;
        }
        if !fds[0].revents().is_empty() {
            return End::Itself;
        }
        if fds.get(2).is_some_and(|fd| !fd.revents().is_empty()) {
            return End::Abandoned;
        }
        // The agent's signals go to the command itself; only a user's own call ends by one.
        if !fds[1].revents().is_empty()
            && let Some(signal) = system::next_signal(signals)
            && direct
        {
            return End::Signal(signal);
        }
    }
}

/// The first process of the namespaces: builds what the command sees, starts it, and collects orphans until it ends.
fn first_process(
    plan: &SandboxSpec,
    stock: &Snapshot,
    sockets: &BTreeSet<PathBuf>,
    caches: Option<&CacheFolder>,
    command: &[OsString],
    side: Option<RawFd>,
    wait: OwnedFd,
    report: OwnedFd,
) -> ! {
    let mut report = File::from(report);
    let refuse = |report: &mut File, why: String| -> ! {
        let _ = report.write_all(&[&[NEVER_BEGAN], why.as_bytes()].concat());
        system::leave(1)
    };
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    // Until the parent has made us the user that it is. If it is gone already, there is nobody to work for.
    if rustix::io::read(&wait, &mut [0_u8; 1]) != Ok(1) {
        system::leave(1);
    }
    system::go_first();
    if let Err(trouble) = mounts::build(plan, &stock.held, &stock.pinned, sockets, caches) {
        refuse(&mut report, trouble.0);
    }
    if !plan.network
        && let Err(error) = system::loopback_up()
    {
        refuse(&mut report, format!("the loopback interface: {error}"));
    }
    if let Err(error) = drop_rights(plan) {
        refuse(&mut report, format!("capabilities: {error}"));
    }
    system::limit_processes(system::MAX_PROCESSES);
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    let child = system::clone_into(0).unwrap_or_else(|error| refuse(&mut report, format!("fork: {error}")));
    if child == 0 {
        let why = become_command(Some(plan), command, side);
        refuse(&mut report, why);
    }
    // The command's own pipes must end when it does, not when we do.
    system::let_go_of_files(side);
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == child => {
                let status = status.as_raw().to_le_bytes();
                let left = u8::from(side.is_some() && reaper::someone_is_left());
                let _ = report.write_all(&[&[ENDED], &status[..], &[left]].concat());
                system::leave(0);
            }
            Err(rustix::io::Errno::CHILD) => system::leave(1),
            _ => {}
        }
    }
}

/// No capability is left, and none can be won.
fn drop_rights(plan: &SandboxSpec) -> io::Result<()> {
    let kept = if plan.foreign_files && !plan.layers.user_namespace {
        CapabilitySet::DAC_OVERRIDE | CapabilitySet::FOWNER
    } else {
        CapabilitySet::empty()
    };
    for capability in CapabilitySet::all().iter().filter(|capability| !kept.contains(*capability)) {
        // One that this kernel does not know cannot be had either.
        let _ = rustix::thread::remove_capability_from_bounding_set(capability);
    }
    rustix::thread::clear_ambient_capability_set()?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: kept };
    rustix::thread::set_capabilities(None, sets)?;
    for capability in kept.iter() {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(rustix::thread::set_no_new_privs(true)?)
}

/// Without namespaces: this process collects the command's orphans and ends them with it.
fn in_place(plan: Option<&SandboxSpec>, command: &[OsString], side: Option<RawFd>, direct: bool) -> ! {
    let refuse = |what: &str, error: io::Error| -> ! { fail(direct, &format!("{what}: {error}")) };
    let lifeline = lifeline(direct);
    let stock = plan.map(|plan| Snapshot::take(plan, false));
    reaper::adopt_orphans();
    let (reports, report) = system::pipe().unwrap_or_else(|error| refuse("a pipe", error));
    let signals = system::take_signals(&[]).unwrap_or_else(|error| refuse("signals", error));
    let child = system::clone_into(0).unwrap_or_else(|error| refuse("fork", error));
    if child == 0 {
        let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        if plan.is_some() {
            // Root without namespaces keeps what it has; what it may touch is held by Landlock.
            let _ = rustix::thread::set_no_new_privs(true);
        }
        let why = become_command(plan, command, side);
        let _ = File::from(report).write_all(why.as_bytes());
        system::leave(1);
    }
    drop(report);
    system::let_go_of_files(side);
    let end = watch(child, lifeline.as_ref(), &signals, direct);
    if !matches!(end, End::Itself) {
        reaper::kill(child);
    }
    let status = waitpid(Pid::from_raw(child), WaitOptions::empty());
    let left = plan.is_some() && side.is_some() && matches!(end, End::Itself) && reaper::someone_is_left();
    reaper::end_all();
    let mut why = String::new();
    let _ = File::from(reports).read_to_string(&mut why);
    if let (Some(plan), Some(stock)) = (plan, &stock) {
        put_right(plan, stock);
    }
    if !why.is_empty() {
        fail(direct, &why);
    }
    if left {
        say(LEFT_RUNNING);
    }
    match (end, status) {
        (End::Signal(signal), _) => system::leave(128 + signal),
        (_, Ok(Some((_, status)))) => reaper::end_like(status.as_raw(), direct),
        _ => reaper::end_like(libc::SIGKILL, direct),
    }
}

/// Puts on what is left to put on and becomes the command; comes back only with the reason why not.
fn become_command(plan: Option<&SandboxSpec>, command: &[OsString], side: Option<RawFd>) -> String {
    // No terminal, no group that signals from outside reach by accident.
    let _ = rustix::process::setsid();
    system::reset_signals();
    let environment = plan.map_or(&[][..], |plan| &plan.environment[..]);
    if let Some(plan) = plan {
        let cwd: &Path = &plan.cwd;
        if let Err(error) = rustix::process::chdir(cwd) {
            return format!(
                "the folder {} cannot be entered there: {}",
                cwd.display(),
                io::Error::from(error)
            );
        }
        if plan.layers.landlock
            && let Err(error) = landlock::restrict(plan)
        {
            return format!("Landlock: {error}");
        }
        system::close_the_rest(side);
        if plan.layers.seccomp
            && let Err(error) = seccomp::restrict(!plan.layers.namespaces && !plan.network)
        {
            return format!("seccomp: {error}");
        }
    } else {
        system::close_the_rest(side);
    }
    let error = system::execute(command, environment);
    let name = command.first().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    format!("{name}: {error}")
}
