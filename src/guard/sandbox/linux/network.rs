//! The helper's side of a network that the commands of a session share.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::system;
use crate::sandbox::shared_network::READY_FD;
use crate::sandbox::spec::SandboxSpec;
use base::process::descriptor;

/// Keeps a namespace until the agent is gone.
pub fn keep(user_namespace: bool) -> ! {
    let _ = rustix::process::setsid();
    let made = system::unshare_network(user_namespace).and_then(|()| system::loopback_up());
    if made.is_err() {
        system::leave(1);
    }
    system::go_first();
    // Who waits for the namespace waits for the end of this pipe.
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
    }
    let _ = io::stdin().read(&mut [0]);
    system::leave(0)
}

/// Moves this process into the session's namespace; false if there is none.
pub fn join(spec: &SandboxSpec) -> io::Result<bool> {
    let Some(keeper) = spec.shared_network.filter(|_| !spec.network) else { return Ok(false) };
    let _ = File::from(descriptor::inherited(READY_FD)).read(&mut [0]);
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
