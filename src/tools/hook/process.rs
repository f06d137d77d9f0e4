//! Runs one hook within its time limit: JSON in, bounded output out.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::settings::Program;
use base::process::run::KillOnDrop;
use base::process::{descriptor, reap};
use base::secret;

const KEPT_BYTES: usize = 1024 * 1024;
/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(200);
/// How long leftover child processes may keep the output pipes open.
const PIPE_GRACE: Duration = Duration::from_millis(120);

#[derive(Clone, Debug, Default)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub timed_out: bool,
    pub cancelled: bool,
}

/// Runs until exit, timeout or interrupt; then everything it started is ended too.
pub async fn run(
    program: &Program,
    input: &[u8],
    (workspace, cwd): (&Path, &Path),
    most: Duration,
    cancel: &CancellationToken,
) -> io::Result<Ran> {
    let folder = workspace.to_string_lossy();
    let placed =
        |text: &str| text.replace("${CLAUDE_PROJECT_DIR}", &folder).replace("$CLAUDE_PROJECT_DIR", &folder);
    let mut command = match &program.args {
        None => {
            let mut command = tokio::process::Command::new("bash");
            command.arg("-c").arg(&program.command);
            command
        }
        Some(args) => {
            let mut command = tokio::process::Command::new(placed(&program.command));
            command.args(args.iter().map(|arg| placed(arg)));
            command
        }
    };
    command
        .current_dir(if cwd.is_dir() { cwd } else { workspace })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("CLAUDE_PROJECT_DIR", workspace)
        .kill_on_drop(true);
    for name in secret::own_variables() {
        command.env_remove(name);
    }
    descriptor::start_with(&mut command, Vec::new())?;
    let mut child = command.spawn()?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    // If this future is dropped, everything the hook started is killed.
    let mut guard = KillOnDrop(Some(leader));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (mut timed_out, mut cancelled, mut read) = (false, false, false);
    let status = {
        let talk = async {
            let write = async {
                if let Some(mut stdin) = stdin {
                    // A hook may exit without reading its input.
                    let _ = stdin.write_all(input).await;
                }
            };
            tokio::join!(write, keep(stdout, &mut out), keep(stderr, &mut err))
        };
        let mut talk = std::pin::pin!(talk);
        let mut end = std::pin::pin!(sleep(most));
        let status = loop {
            tokio::select! {
                status = child.wait() => break status?,
                _ = &mut talk, if !read => read = true,
                () = &mut end, if !timed_out && !cancelled => timed_out = true,
                () = cancel.cancelled(), if !timed_out && !cancelled => cancelled = true,
            }
            if timed_out || cancelled {
                reap::signal_all(leader, Signal::TERM);
                let ended = timeout(GRACE, child.wait()).await;
                reap::signal_all(leader, Signal::KILL);
                break match ended {
                    Ok(status) => status?,
                    Err(_) => child.wait().await?,
                };
            }
        };
        if !read {
            let _ = timeout(PIPE_GRACE, &mut talk).await;
        }
        status
    };
    guard.0 = None;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ran { code: status.code(), stdout: text(out), stderr: text(err), timed_out, cancelled })
}

async fn keep(pipe: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        let room = KEPT_BYTES.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
    }
}
