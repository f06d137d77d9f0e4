//! A long-running program used over its standard streams, such as a server: own session, no keys in its
//! environment, stderr kept in fixed memory, ended together with everything it started.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::run::{self, LaunchWrapper, clean_environment, prepare};
use super::{reap, task};
use crate::system::os::{self, Handle, Signal};

const COMPLAINT_BYTES: usize = 8 * 1024;

pub struct ServiceSpec {
    pub wrapper: Option<LaunchWrapper>,
    pub program: OsString,
    pub args: Vec<OsString>,
    pub cwd: PathBuf,
    /// In addition to our own environment without keys.
    pub environment: Vec<(String, String)>,
}

/// Dropping it ends the program and everything it started.
pub struct Service {
    child: Child,
    leader: i32,
    lifeline: Option<Handle>,
    complaints: Arc<Mutex<VecDeque<u8>>>,
}

pub fn start(spec: ServiceSpec) -> io::Result<(Service, ChildStdin, ChildStdout)> {
    let (mut command, descriptors, lifeline) = prepare(spec.wrapper, &spec.program, &spec.args);
    command
        .current_dir(&spec.cwd)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(lifeline.is_none());
    clean_environment(&mut command, &spec.cwd);
    command.envs(spec.environment);
    os::start_with(&mut command, descriptors)?;
    let mut child = command.spawn()?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    let streams = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
    let Some(((stdin, stdout), stderr)) = streams else {
        return Err(io::Error::other("its standard streams are not open"));
    };
    let complaints = Arc::default();
    task::spawn(keep_tail(stderr, Arc::clone(&complaints)));
    Ok((Service { child, leader, lifeline, complaints }, stdin, stdout))
}

impl Service {
    pub fn complaints(&self) -> String {
        let kept = self.complaints.lock();
        String::from_utf8_lossy(&kept.iter().copied().collect::<Vec<_>>()).trim().to_owned()
    }

    pub async fn ended(&mut self, patience: Duration) -> Option<run::Exit> {
        let status = tokio::time::timeout(patience, self.child.wait()).await.ok()?.ok()?;
        Some(run::exit_of(status))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // With a lifeline, the helper ends everything and cleans up.
        if self.lifeline.take().is_none() && !matches!(self.child.try_wait(), Ok(Some(_))) {
            reap::signal_all(self.leader, Signal::KILL);
        }
    }
}

async fn keep_tail(mut stderr: ChildStderr, kept: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let mut kept = kept.lock();
        kept.extend(&chunk[..count]);
        let overflow = kept.len().saturating_sub(COMPLAINT_BYTES);
        kept.drain(..overflow);
    }
}
