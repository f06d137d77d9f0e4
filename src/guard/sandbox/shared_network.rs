//! The network of a session's commands: a helper process keeps a namespace with nothing but a loopback, so
//! that a server in the background can be reached from the next command.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use super::launch;

/// Ends when the namespace is ready.
pub const READY_FD: i32 = 59;

#[derive(Debug)]
pub struct SharedNetwork {
    keeper: Child,
    lifeline: Option<io::PipeWriter>,
    ready: io::PipeReader,
}

impl SharedNetwork {
    pub fn start(user_namespace: bool) -> io::Result<Self> {
        let (stdin, lifeline) = io::pipe()?;
        let (ready, stdout) = io::pipe()?;
        let mut command = Command::new(launch::helper()?);
        command.args([launch::HELPER_NAME, launch::KEEP_NETWORK, if user_namespace { "user" } else { "-" }]);
        let keeper = command.env_clear().stdin(stdin).stdout(stdout).stderr(Stdio::null()).spawn()?;
        Ok(Self { keeper, lifeline: Some(lifeline), ready })
    }

    /// Its process, whose number nobody else gets before this is dropped.
    pub fn keeper(&self) -> u32 {
        self.keeper.id()
    }

    pub fn ready(&self) -> io::Result<OwnedFd> {
        Ok(self.ready.try_clone()?.into())
    }
}

impl Drop for SharedNetwork {
    fn drop(&mut self) {
        drop(self.lifeline.take());
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
