//! Tries each layer for real in a child, because kernel versions and settings don't show what a container allows.
#![cfg(target_os = "linux")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::seccomp;
use super::supervisor;
use super::system;
use crate::sandbox::probe::{SandboxLayer, SandboxStatus};
use crate::sandbox::spec::Layers;

/// The first version that covers truncation; older ones can't protect files on their own.
const LANDLOCK_ALONE: i32 = 3;
const NAMESPACES: i32 = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | libc::CLONE_NEWNET;

/// Prints the result as JSON.
pub fn run() -> ! {
    let text = serde_json::to_string(&everything()).unwrap_or_default();
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    system::leave(0)
}

fn everything() -> SandboxStatus {
    // In parallel, because the trials mostly wait.
    let filters = start(0, || seccomp::restrict(false, false).map(|()| String::new()));
    // Without a user namespace files keep their owners, which is better for root.
    let plain = start(NAMESPACES, in_namespaces).and_then(finish);
    let user_namespace = plain.is_err();
    let spaces = plain.or_else(|_| start(NAMESPACES | libc::CLONE_NEWUSER, in_namespaces).and_then(finish));
    let filters = filters.and_then(finish);
    let landlock = system::landlock_version();
    let layers = Layers {
        namespaces: spaces.is_ok(),
        user_namespace: spaces.is_ok() && user_namespace,
        fresh_proc: spaces.as_ref().is_ok_and(String::is_empty),
        landlock: landlock.is_some(),
        seccomp: filters.is_ok(),
    };
    let row = SandboxLayer::new;
    let own = "mounts, processes, network and IPC of its own";
    let detail = match &spaces {
        Ok(_) if user_namespace => format!("{own}, in a user namespace"),
        Ok(_) => own.to_owned(),
        Err(why) => why.clone(),
    };
    let mut rows = vec![row("namespaces", layers.namespaces, detail)];
    if let Ok(why) = spaces {
        let detail = if layers.fresh_proc { "of its own".to_owned() } else { why };
        rows.push(row("/proc", layers.fresh_proc, detail));
    }
    let rights = landlock.map_or_else(
        || "not in this kernel, or not enabled (kernel 5.13, lsm=landlock)".to_owned(),
        |version| format!("version {version}"),
    );
    rows.push(row("landlock", layers.landlock, rights));
    rows.push(row("seccomp", layers.seccomp, filters.err().unwrap_or_else(|| "filters".to_owned())));
    let alone = landlock.is_some_and(|version| version >= LANDLOCK_ALONE) && layers.seccomp;
    SandboxStatus {
        files: layers.namespaces || alone,
        network: layers.namespaces || layers.seccomp,
        layers,
        rows,
    }
}

type Trial = (i32, OwnedFd);

fn start(namespaces: i32, trial: impl FnOnce() -> Result<String, String>) -> Result<Trial, String> {
    let (reader, writer) = system::pipe().map_err(|error| error.to_string())?;
    let (wait, go) = system::pipe().map_err(|error| error.to_string())?;
    let child =
        system::clone_into(namespaces).map_err(|error| format!("not permitted by the system: {error}"))?;
    if child == 0 {
        drop((reader, go));
        let _ = rustix::io::read(&wait, &mut [0_u8; 1]);
        let text = trial().map_or_else(|why| format!("-{why}"), |found| format!("+{found}"));
        let _ = File::from(writer).write_all(text.as_bytes());
        system::leave(0);
    }
    if namespaces & libc::CLONE_NEWUSER != 0
        && let Err(error) = system::map_user(child)
    {
        supervisor::kill(child);
        return Err(format!("the user namespace: {error}"));
    }
    let _ = rustix::io::write(&go, b"g");
    Ok((child, reader))
}

fn finish((child, reader): Trial) -> Result<String, String> {
    let mut text = String::new();
    let _ = File::from(reader).read_to_string(&mut text);
    let _ = waitpid(Pid::from_raw(child), WaitOptions::empty());
    match text.split_at_checked(1) {
        Some(("+", found)) => Ok(found.to_owned()),
        Some((_, why)) => Err(why.to_owned()),
        None => Err("the trial was killed".to_owned()),
    }
}

/// Makes the file tree read-only; returns why `/proc` can't be mounted anew, or an empty text.
fn in_namespaces() -> Result<String, String> {
    let top = || rustix::fs::open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .and_then(|()| top())
        .map_err(io::Error::from)
        .and_then(|top| system::restrict(top.as_fd(), system::RDONLY | system::NOSUID, true))
        .and_then(|()| system::loopback_up())
        .map_err(|error| format!("the file tree can't be made read-only: {error}"))?;
    Ok(system::mount("proc", "/proc", c"").err().map(|error| error.to_string()).unwrap_or_default())
}
