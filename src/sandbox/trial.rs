//! The helper's own trial of each layer: done for real in a child that then ends, for a kernel's version and settings say
//! little about what a container lets through.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::probe::{SandboxLayer, SandboxStatus};
use super::spec::Layers;
use crate::sandbox::linux::landlock;
use crate::sandbox::linux::reaper;
use crate::sandbox::linux::seccomp;
use crate::sandbox::linux::system;

/// The first set of Landlock rights that also holds truncation: less is no wall by itself.
const LANDLOCK_ALONE: i32 = 3;

/// Tries everything and prints what was found as JSON.
pub fn run() -> ! {
    let text = serde_json::to_string(&everything()).unwrap_or_default();
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    system::leave(0)
}

fn everything() -> SandboxStatus {
    // Beside the other, for both spend their time waiting.
    let seccomp_found = start(|| seccomp::restrict(false).map(|()| String::new()));
    // Root needs no user namespace, and does better without: files keep their owners.
    let plain = in_child(|| namespaces(false));
    let (namespaces_found, user_namespace) = match plain {
        Ok(proc) => (Ok(proc), false),
        Err(_) => (in_child(|| namespaces(true)), true),
    };
    let version = landlock::version();
    let seccomp_found = seccomp_found.and_then(finish);
    let layers = Layers {
        namespaces: namespaces_found.is_ok(),
        user_namespace: namespaces_found.is_ok() && user_namespace,
        fresh_proc: matches!(&namespaces_found, Ok(proc) if proc.is_empty()),
        landlock: version.is_some(),
        seccomp: seccomp_found.is_ok(),
    };
    let row = |name: &str, available: bool, detail: String| SandboxLayer {
        name: name.to_owned(),
        available,
        detail,
    };
    let spaces = match &namespaces_found {
        Ok(_) if user_namespace => {
            "mounts, processes, network and IPC of its own, in a user namespace".to_owned()
        }
        Ok(_) => "mounts, processes, network and IPC of its own".to_owned(),
        Err(why) => why.clone(),
    };
    let mut rows = vec![row("namespaces", layers.namespaces, spaces)];
    if let Ok(why) = &namespaces_found {
        let detail = if layers.fresh_proc { "of its own".to_owned() } else { why.clone() };
        rows.push(row("/proc", layers.fresh_proc, detail));
    }
    let rights = version.map_or_else(
        || "the kernel has none, or it is not switched on (kernel 5.13, lsm=landlock)".to_owned(),
        |version| format!("version {version}"),
    );
    rows.push(row("landlock", layers.landlock, rights));
    rows.push(row("seccomp", layers.seccomp, seccomp_found.err().unwrap_or_else(|| "filters".to_owned())));
    let alone = version.is_some_and(|version| version >= LANDLOCK_ALONE) && layers.seccomp;
    SandboxStatus {
        files: layers.namespaces || alone,
        network: layers.namespaces || layers.seccomp,
        layers,
        rows,
    }
}

/// Runs a trial in a child of its own; its words, or why it failed.
fn in_child(trial: impl FnOnce() -> Result<String, String>) -> Result<String, String> {
    start(trial).and_then(finish)
}

/// A trial under way: its process, and where it will say what it found.
type Trial = (i32, OwnedFd);

fn start(trial: impl FnOnce() -> Result<String, String>) -> Result<Trial, String> {
    let say = |error: io::Error| error.to_string();
    let (reader, writer) = system::pipe().map_err(say)?;
    let child = system::clone_into(0).map_err(say)?;
    if child == 0 {
        drop(reader);
        let text = match trial() {
            Ok(text) => format!("+{text}"),
            Err(text) => format!("-{text}"),
        };
        let _ = File::from(writer).write_all(text.as_bytes());
        system::leave(0);
    }
    drop(writer);
    Ok((child, reader))
}

fn finish((child, reader): Trial) -> Result<String, String> {
    let mut text = String::new();
    let _ = File::from(reader).read_to_string(&mut text);
    let _ = waitpid(Pid::from_raw(child), WaitOptions::empty());
    match text.split_at_checked(1) {
        Some(("+", rest)) => Ok(rest.to_owned()),
        Some(("-", why)) => Err(why.to_owned()),
        _ => Err("the trial was killed".to_owned()),
    }
}

/// Fresh namespaces with a read-only tree; empty words when `/proc` can be fresh as well.
fn namespaces(user: bool) -> Result<String, String> {
    let flags = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWNET;
    let (reader, writer) = system::pipe().map_err(|error| error.to_string())?;
    let (wait, go) = system::pipe().map_err(|error| error.to_string())?;
    let first = system::clone_into(flags | if user { libc::CLONE_NEWUSER } else { 0 })
        .map_err(|error| format!("the system refuses them: {error}"))?;
    if first == 0 {
        drop((reader, go));
        let _ = rustix::io::read(&wait, &mut [0_u8; 1]);
        let text = match inside() {
            Ok(()) => match system::mount("proc", Path::new("/proc"), "") {
                Ok(()) => "+".to_owned(),
                Err(error) => format!("+{error}"),
            },
            Err(error) => format!("-{error}"),
        };
        let _ = File::from(writer).write_all(text.as_bytes());
        system::leave(0);
    }
    drop((writer, wait));
    if user && let Err(error) = system::map_user(first) {
        reaper::kill(first);
        return Err(format!("the user namespace: {error}"));
    }
    let _ = rustix::io::write(&go, b"g");
    let mut text = String::new();
    let _ = File::from(reader).read_to_string(&mut text);
    let _ = waitpid(Pid::from_raw(first), WaitOptions::empty());
    match text.split_at_checked(1) {
        Some(("+", proc)) => Ok(proc.to_owned()),
        Some((_, why)) => Err(format!("the tree cannot be made read-only: {why}")),
        None => Err("the first process of the namespaces was killed".to_owned()),
    }
}

fn inside() -> io::Result<()> {
    let top = || rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    system::make_private(top()?.as_fd())?;
    system::restrict(top()?.as_fd(), system::RDONLY | system::NOSUID, true)?;
    system::loopback_up()
}
