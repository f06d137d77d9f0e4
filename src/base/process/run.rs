//! Runs a command so that it can't hang us, flood us or outlive its time: own session, no stdin, no keys in its
//! environment, head and tail of the output in fixed memory and the rest in a file.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::{programs, quiet, reap};
use crate::system::os::{self, Handle, Signal};
use crate::{file, secret};

/// Between the first and the final signal, after a timeout and after an interrupt by the user.
const TIMEOUT_GRACE: Duration = Duration::from_millis(300);
const CANCEL_GRACE: Duration = Duration::from_millis(40);
/// A server gets time to close its connections and say so.
const JOB_GRACE: Duration = Duration::from_secs(2);
/// Time for a wrapper to end everything and clean up.
const WRAPPER_GRACE: Duration = Duration::from_millis(1_500);
/// How long a grandchild may keep the pipe open after the command has ended.
const PIPE_GRACE: Duration = Duration::from_millis(120);
/// The same after a kill, to read what is already in the pipe.
const DRAIN_GRACE: Duration = Duration::from_millis(30);
/// Pause after each chunk once the file is full, so that endless output doesn't use a whole core.
const FLOOD_PAUSE: Duration = Duration::from_millis(2);
/// This long after output, the watcher gets an empty chunk, to show what it hasn't shown yet.
const WATCH_AGAIN: Duration = Duration::from_millis(110);
const CHUNK_BYTES: usize = 64 * 1024;

pub type SpillName = Box<dyn FnOnce() -> io::Result<PathBuf> + Send>;

/// A program that is started in the command's place and then starts the command.
pub struct LaunchWrapper {
    pub program: OsString,
    pub args: Vec<OsString>,
    pub descriptors: Vec<(i32, Handle)>,
    /// Closing it makes the wrapper end the command and all its processes, clean up and exit.
    pub lifeline: Option<Handle>,
    pub environment: Vec<(String, Option<String>)>,
}

#[derive(Default)]
pub struct CommandSpec {
    pub wrapper: Option<LaunchWrapper>,
    pub program: OsString,
    pub args: Vec<OsString>,
    /// Set for the command besides what it inherits.
    pub variable: Option<(&'static str, OsString)>,
    pub cwd: PathBuf,
    pub timeout: Duration,
    /// Bytes kept in memory of the head, and the same for the tail.
    pub keep_bytes: usize,
    /// Names the file for the full output, once that exceeds memory.
    pub spill: Option<SpillName>,
    pub spill_cap_bytes: u64,
    /// A descriptor number for a pipe from the command to us, read into [`CommandOutcome::side`].
    pub side_fd: Option<i32>,
    /// At its time limit the command continues instead of being killed; the path of its output is sent here.
    pub go_on: Option<oneshot::Sender<PathBuf>>,
    /// Acts as if the time limit were reached, for commands that then continue.
    pub hurry: CancellationToken,
    pub quiet: bool,
    pub is_job: bool,
}

impl CommandSpec {
    pub fn of_shell(line: &str) -> Self {
        let args = ["-c", line].map(OsString::from).to_vec();
        Self { program: programs::shell().into(), args, ..Self::default() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

impl Exit {
    /// The code that a shell would report.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
        }
    }
}

pub fn exit_of(status: std::process::ExitStatus) -> Exit {
    status.code().map_or_else(|| Exit::Signal(os::signal_of(status).unwrap_or(0)), Exit::Code)
}

pub struct CommandOutcome {
    pub exit: Exit,
    pub timed_out: bool,
    pub cancelled: bool,
    /// The command's process id, which is also its session id.
    pub leader: i32,
    pub output: Captured,
    pub side: Vec<u8>,
    /// The wrapper's lifeline; what it left running lives while this is open.
    pub lifeline: Option<Handle>,
}

/// Output in limited memory: everything in `head` if it fits, otherwise both ends.
#[derive(Default)]
pub struct Captured {
    pub head: Vec<u8>,
    pub tail: VecDeque<u8>,
    pub total_bytes: u64,
    pub total_lines: u64,
    pub spilled: Option<PathBuf>,
    /// Whether the file was truncated, by its limit or a full disk.
    pub spill_cut: bool,
}

impl Captured {
    pub fn is_whole(&self) -> bool {
        self.total_bytes == (self.head.len() + self.tail.len()) as u64
    }

    /// Number of lines, counting a last one without a line feed.
    pub fn lines(&self) -> u64 {
        let last = self.tail.back().or(self.head.last());
        self.total_lines + u64::from(last.is_some_and(|&byte| byte != b'\n'))
    }
}

struct Sink {
    captured: Captured,
    keep: usize,
    name: Option<SpillName>,
    file: Option<File>,
    written: u64,
    cap: u64,
}

impl Sink {
    /// Returns `false` when the flood should be slowed down.
    fn take(&mut self, chunk: &[u8]) -> bool {
        let seen = &mut self.captured;
        let fits_before = seen.is_whole();
        seen.total_bytes += chunk.len() as u64;
        seen.total_lines += chunk.iter().filter(|&&b| b == b'\n').count() as u64;
        let room = self.keep.saturating_sub(seen.head.len()).min(chunk.len());
        seen.head.extend_from_slice(&chunk[..room]);
        let rest = &chunk[room..];
        let overflow = (seen.tail.len() + rest.len()).saturating_sub(self.keep);
        if overflow > 0 && fits_before && self.file.is_none() {
            // After this, memory no longer has everything.
            self.start_file();
            let (a, b) = self.captured.tail.as_slices();
            let early = [&self.captured.head[..], a, b].concat();
            // The head already has the start of this chunk.
            self.store(&early);
            self.store(rest);
        } else if self.file.is_some() {
            self.store(chunk);
        }
        let seen = &mut self.captured;
        if rest.len() >= self.keep {
            seen.tail.clear();
            seen.tail.extend(&rest[rest.len() - self.keep..]);
        } else {
            seen.tail.drain(..overflow.min(seen.tail.len()));
            seen.tail.extend(rest);
        }
        seen.total_bytes < self.cap
    }

    fn spilled_to_file(&mut self) -> Option<PathBuf> {
        if self.file.is_none() {
            self.start_file();
            let (early, late) = self.captured.tail.as_slices();
            let all = [&self.captured.head[..], early, late].concat();
            self.store(&all);
        }
        self.captured.spilled.clone()
    }

    fn start_file(&mut self) {
        let Some(name) = self.name.take() else { return };
        let create = |path: &PathBuf| {
            file::open_private(File::options().write(true).create(true).truncate(true), path)
        };
        match name().and_then(|path| Ok((create(&path)?, path))) {
            Ok((file, path)) => {
                self.file = Some(file);
                self.captured.spilled = Some(path);
            }
            Err(_) => self.captured.spill_cut = true,
        }
    }

    fn store(&mut self, bytes: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let room = usize::try_from(self.cap - self.written).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        let stored = file.write_all(part);
        self.captured.spill_cut |= stored.is_err() || part.len() < bytes.len();
        self.written += part.len() as u64;
    }
}

/// Runs `spec` until it ends, times out or is interrupted. `watch` gets each chunk, and an empty one a little later.
pub async fn run(
    spec: CommandSpec,
    cancel: &CancellationToken,
    mut watch: impl FnMut(&[u8]) + Send,
) -> io::Result<CommandOutcome> {
    let (reader, writer) = io::pipe()?;
    let (side_reader, side_writer) = io::pipe()?;
    let (mut command, mut descriptors, mut lifeline) = prepare(spec.wrapper, &spec.program, &spec.args);
    command
        .current_dir(&spec.cwd)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        // A wrapper must clean up, so only its lifeline ends it.
        .kill_on_drop(lifeline.is_none());
    descriptors.extend(spec.side_fd.map(|fd| (fd, Handle::from(side_writer))));
    clean_environment(&mut command, &spec.cwd);
    command.envs(spec.variable);
    if spec.quiet {
        command.envs(quiet::for_command(|name| std::env::var_os(name)));
    }
    os::start_with(&mut command, descriptors)?;
    let mut child = command.spawn()?;
    // It owns the pipe's write ends, so the pipe would never close.
    drop(command);
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    // If this future is dropped, everything the command started is killed.
    let mut guard = KillOnDrop(Some(leader).filter(|_| lifeline.is_none()));
    let mut pipe = os::reader(reader)?;
    let mut sink = Sink {
        captured: Captured::default(),
        keep: spec.keep_bytes,
        name: spec.spill,
        file: None,
        written: 0,
        cap: spec.spill_cap_bytes,
    };
    let mut go_on = spec.go_on;
    let mut is_job = spec.is_job;
    let mut buffer = vec![0; CHUNK_BYTES];
    let far = Instant::now() + Duration::from_secs(365 * 24 * 3600);
    let mut kill_at = Instant::now() + spec.timeout;
    let mut close_at = far;
    let mut resume_at = Instant::now();
    let mut watch_at = far;
    let (mut timed_out, mut cancelled, mut killed) = (false, false, false);
    let mut status = None;
    let mut open = true;
    while status.is_none() || open {
        tokio::select! {
            biased;
            () = cancel.cancelled(), if !cancelled && status.is_none() => {
                cancelled = true;
                reap::signal_all(leader, Signal::TERM);
                kill_at = Instant::now() + if is_job { JOB_GRACE } else { CANCEL_GRACE };
            }
            () = sleep_until(kill_at), if !killed && status.is_none() => {
                if (timed_out || cancelled) && lifeline.take().is_some() {
                    kill_at = Instant::now() + WRAPPER_GRACE;
                } else if timed_out || cancelled {
                    killed = true;
                    reap::signal_all(leader, Signal::KILL);
                    close_at = Instant::now() + PIPE_GRACE;
                } else if let Some(told) = go_on.take()
                    && let Some(file) = sink.spilled_to_file()
                    && told.send(file).is_ok()
                {
                    kill_at = far;
                    is_job = true;
                } else {
                    timed_out = true;
                    reap::signal_all(leader, Signal::TERM);
                    kill_at = Instant::now() + TIMEOUT_GRACE;
                }
            }
            () = spec.hurry.cancelled(), if go_on.is_some() && !cancelled && !timed_out && status.is_none() => {
                kill_at = Instant::now();
            }
            ended = child.wait(), if status.is_none() => {
                status = Some(ended?);
                if timed_out || cancelled {
                    reap::signal_all(leader, Signal::KILL);
                    close_at = Instant::now() + DRAIN_GRACE;
                } else {
                    close_at = Instant::now() + PIPE_GRACE;
                }
            }
            () = sleep_until(close_at), if open && close_at < far => open = false,
            () = sleep_until(watch_at), if watch_at < far => {
                watch(&[]);
                watch_at = far;
            }
            read = async { sleep_until(resume_at).await; pipe.read(&mut buffer).await }, if open => match read {
                Ok(0) | Err(_) => open = false,
                Ok(count) => {
                    watch(&buffer[..count]);
                    watch_at = watch_at.min(Instant::now() + WATCH_AGAIN);
                    if !sink.take(&buffer[..count]) {
                        resume_at = Instant::now() + FLOOD_PAUSE;
                    }
                }
            },
        }
        // A process that survives even the last signal (stuck in the kernel) is left to the system.
        if killed && status.is_none() && !open {
            break;
        }
    }
    guard.0 = None;
    let exit = match status {
        Some(status) => exit_of(status),
        None => Exit::Signal(Signal::KILL.as_raw()),
    };
    let side = if spec.side_fd.is_some() { read_ready(side_reader) } else { Vec::new() };
    Ok(CommandOutcome { exit, timed_out, cancelled, leader, output: sink.captured, side, lifeline })
}

/// The command to start, the files to open in it, and what keeps a wrapper alive.
pub fn prepare(
    wrapper: Option<LaunchWrapper>,
    program: &OsString,
    args: &[OsString],
) -> (tokio::process::Command, Vec<(i32, Handle)>, Option<Handle>) {
    let Some(wrapper) = wrapper else {
        let mut command = tokio::process::Command::new(program);
        command.args(args);
        return (command, Vec::new(), None);
    };
    let mut command = tokio::process::Command::new(wrapper.program);
    command.args(wrapper.args).arg(program).args(args);
    for (name, value) in &wrapper.environment {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    (command, wrapper.descriptors, wrapper.lifeline)
}

/// What is ready in the pipe, without waiting, because a grandchild may keep the other end open forever.
fn read_ready(mut pipe: io::PipeReader) -> Vec<u8> {
    let mut bytes = vec![0; 8192];
    let ready = os::never_wait(&pipe).and_then(|()| pipe.read(&mut bytes));
    bytes.truncate(ready.unwrap_or(0));
    bytes
}

pub struct KillOnDrop(pub Option<i32>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(leader) = self.0 {
            reap::signal_all(leader, Signal::KILL);
        }
    }
}

pub fn clean_environment(command: &mut tokio::process::Command, cwd: &std::path::Path) {
    secret::remove_credentials(command.as_std_mut());
    command.envs(quiet::always());
    command.env("PWD", cwd);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sink(keep: usize, path: Option<PathBuf>) -> Sink {
        let name = path.map(|path| -> SpillName { Box::new(move || Ok(path)) });
        Sink { captured: Captured::default(), keep, name, file: None, written: 0, cap: 100 }
    }

    #[test]
    fn head_tail_and_spill_file() {
        for size in [1, 3, 7, 30] {
            let dir = tempfile::tempdir().unwrap();
            let mut sink = sink(4, Some(dir.path().join("out")));
            let all: Vec<u8> = (b'a'..=b'z').collect();
            for chunk in all.chunks(size) {
                sink.take(chunk);
            }
            let tail: Vec<u8> = sink.captured.tail.iter().copied().collect();
            assert_eq!((&sink.captured.head[..], &tail[..]), (&b"abcd"[..], &b"wxyz"[..]));
            assert!(!sink.captured.is_whole() && !sink.captured.spill_cut);
            assert_eq!(std::fs::read(sink.captured.spilled.unwrap()).unwrap(), all);
        }
    }

    #[test]
    fn spill_file_only_for_large_output() {
        let dir = tempfile::tempdir().unwrap();
        let mut small = sink(4, Some(dir.path().join("small")));
        small.take(b"abcdefgh");
        assert!(small.captured.is_whole() && small.captured.spilled.is_none());
        let mut large = sink(4, Some(dir.path().join("large")));
        assert!(large.take(&[b'x'; 60]));
        assert!(!large.take(&[b'y'; 60]));
        assert!(large.captured.spill_cut);
        assert_eq!(std::fs::metadata(dir.path().join("large")).unwrap().len(), 100);
    }
}
