//! A command that its call waits for. At its time limit, or at the user's request, it continues as a job.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::jobs::{BackgroundJob, JobKind, how_it_ended};
use super::report::{self, CommandRun, KEEP_BYTES, SPILL_BYTES};
use super::visible_output::Progress;
use crate::api::{ToolError, ToolOutcome, blocking};
use crate::cx::ToolCx;
use base::process::run::{self as process, CommandOutcome, CommandSpec};
use base::process::{programs, task};
use guard::sandbox::launch;

/// The file descriptor on which the shell reports its last folder; too high for scripts to use.
const CWD_REPORT_FD: i32 = 62;
/// The simplest shells know only one-digit descriptors.
const CWD_REPORT_FD_SH: i32 = 7;
/// Holds the command's text until the shell has read it.
const COMMAND: &str = "MYCODE_COMMAND";

pub async fn wait(run: CommandRun, cx: &ToolCx) -> ToolOutcome {
    let shell = programs::shell();
    let report_fd = if shell == "bash" { CWD_REPORT_FD } else { CWD_REPORT_FD_SH };
    wait_in(&run, cx, (shell, report_fd)).await.map_err(not_started)?
}

/// `shell` includes the descriptor for its last folder.
async fn wait_in(command: &CommandRun, cx: &ToolCx, shell: (&str, i32)) -> io::Result<ToolOutcome> {
    let mut run = Foreground::start(command, cx, shell)?;
    let command = command.clone();
    let (mut may_go_on, mut stopped) = (true, false);
    loop {
        tokio::select! {
            outcome = &mut run.task => {
                let (outcome, took) = (outcome.map_err(io::Error::other).flatten()?, run.begun.elapsed());
                return Ok(blocking(cx, move |cx| Ok(report::ended(&command, cx, outcome, took))).await);
            }
            file = &mut run.goes_on, if may_go_on => match file {
                Ok(file) => {
                    let waited = run.begun.elapsed();
                    let id = run.become_job(&command.command, cx, &file);
                    return Ok(blocking(cx, move |cx| Ok(report::goes_on(&command, cx, id, &file, waited))).await);
                }
                Err(_) => may_go_on = false,
            },
            () = cx.cancel.cancelled(), if !stopped => {
                stopped = true;
                run.cancel.cancel();
            }
        }
    }
}

fn not_started(error: io::Error) -> ToolError {
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => ToolError::invalid(
            "the command is too long for the system (128 KiB); put the text into a file with Write",
        ),
        _ => ToolError::failed(format!("the shell could not be started: {error}")),
    }
}

/// A command that the call waits for. Dropping it ends the command, unless it has become a job.
struct Foreground {
    task: JoinHandle<io::Result<CommandOutcome>>,
    /// Signals that the command continues past its time limit; its output is in this file.
    goes_on: oneshot::Receiver<PathBuf>,
    begun: Instant,
    /// The job that gets its output after the time limit.
    job: Arc<OnceLock<Arc<BackgroundJob>>>,
    cancel: CancellationToken,
    guard: Option<DropGuard>,
}

impl Foreground {
    fn start(run: &CommandRun, cx: &ToolCx, (shell, side_fd): (&str, i32)) -> io::Result<Self> {
        // A separate pipe gets the shell's last folder, however it exits. With `eval`, errors quote only the command;
        // with a variable, `pgrep -f` doesn't find the shell by its command's own text.
        let script = format!(
            "trap 'command pwd -P >&{side_fd} 2>/dev/null' EXIT; __mycode=${COMMAND}; unset {COMMAND}; eval \"$__mycode\""
        );
        let spill = Arc::clone(&cx.spill);
        let (told, goes_on) = oneshot::channel();
        let spec = CommandSpec {
            wrapper: cx
                .sandbox
                .wrap(cx.confinement.clone(), &run.cwd, Some(side_fd))?
                .or_else(|| launch::end_with_agent(side_fd)),
            program: shell.into(),
            args: ["-c", &script, shell].map(OsString::from).to_vec(),
            variable: Some((COMMAND, OsString::from(&run.command))),
            cwd: run.cwd.clone(),
            timeout: run.timeout,
            keep_bytes: KEEP_BYTES,
            spill: Some(Box::new(move || spill.reserve("bash"))),
            spill_cap_bytes: SPILL_BYTES,
            side_fd: Some(side_fd),
            go_on: cx.shell.jobs.has_room().then_some(told),
            hurry: cx.shell.jobs.hurry(),
            quiet: !cx.by_user,
            is_job: false,
        };
        let (cancel, watching) = (CancellationToken::new(), cx.clone());
        let (job, ends) = (Arc::new(OnceLock::<Arc<BackgroundJob>>::new()), cancel.clone());
        let owner = Arc::clone(&job);
        let task = task::spawn(async move {
            let mut progress = Progress::default();
            let watch = |chunk: &[u8]| match owner.get() {
                Some(job) => job.append(chunk, 0),
                None => progress.feed(chunk, &watching),
            };
            process::run(spec, &ends, watch).await
        });
        let guard = Some(cancel.clone().drop_guard());
        Ok(Self { task, goes_on, begun: Instant::now(), job, cancel, guard })
    }

    fn become_job(mut self, command: &str, cx: &ToolCx, file: &Path) -> u32 {
        let cancel = self.cancel.clone();
        drop(self.guard.take().map(DropGuard::disarm));
        let job = cx.shell.jobs.add(command, file.to_owned(), self.begun, cancel, None, JobKind::Command);
        let _ = self.job.set(Arc::clone(&job));
        let task = self.task;
        cx.shell.jobs.follow(job, async { how_it_ended(&task.await.map_err(io::Error::other).flatten()) })
    }
}
