//! Runs one hook within its time limit: JSON in, bounded output out.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::settings::HookProgram;
use base::config::trusted::plugin;
use base::process::run::KillOnDrop;
use base::process::{programs, reap, task};
use base::secret;
use base::system::os::{self, Signal};

const KEPT_BYTES: usize = 1024 * 1024;
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

/// Runs until exit, timeout or interrupt, then ends everything it started.
pub async fn run(
    program: &HookProgram,
    input: &[u8],
    (workspace, cwd): (&Path, &Path),
    most: Duration,
    cancel: &CancellationToken,
) -> io::Result<Ran> {
    let folder = workspace.to_string_lossy();
    let placed =
        |text: &str| text.replace("${CLAUDE_PROJECT_DIR}", &folder).replace("$CLAUDE_PROJECT_DIR", &folder);
    let (started, args) = match &program.args {
        None => (programs::shell().to_owned(), vec!["-c".to_owned(), program.command.clone()]),
        Some(args) => (placed(&program.command), args.iter().map(|arg| placed(arg)).collect()),
    };
    let mut command = Command::new(started);
    command
        .args(args)
        .current_dir(if cwd.is_dir() { cwd } else { workspace })
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("CLAUDE_PROJECT_DIR", workspace)
        .kill_on_drop(true);
    if let Some(root) = &program.plugin {
        command.env(plugin::ROOT, root);
    }
    for name in secret::own_variables() {
        command.env_remove(name);
    }
    os::start_with(&mut command, Vec::new())?;
    let mut child = command.spawn()?;
    let leader = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or(0);
    // If this future is dropped, everything that the hook started is killed.
    let mut guard = KillOnDrop(Some(leader));
    let (out, err) = (Kept::default(), Kept::default());
    let reading = (keep(child.stdout.take(), Arc::clone(&out)), keep(child.stderr.take(), Arc::clone(&err)));
    let (mut stdin, input) = (child.stdin.take(), input.to_vec());
    let mut talk = task::spawn(async move {
        let write = async {
            // A hook may exit without reading its input.
            if let Some(mut stdin) = stdin.take() {
                let _ = stdin.write_all(&input).await;
            }
        };
        tokio::join!(write, reading.0, reading.1)
    });
    let (mut timed_out, mut cancelled) = (false, false);
    let status = tokio::select! {
        status = child.wait() => status,
        () = sleep(most) => {
            timed_out = true;
            end(&mut child, leader).await
        }
        () = cancel.cancelled() => {
            cancelled = true;
            end(&mut child, leader).await
        }
    }?;
    let _ = timeout(PIPE_GRACE, &mut talk).await;
    talk.abort();
    guard.0 = None;
    let text = |kept: Kept| String::from_utf8_lossy(&kept.lock()).into_owned();
    Ok(Ran { code: status.code(), stdout: text(out), stderr: text(err), timed_out, cancelled })
}

async fn end(child: &mut Child, leader: i32) -> io::Result<ExitStatus> {
    reap::signal_all(leader, Signal::TERM);
    let ended = timeout(GRACE, child.wait()).await;
    reap::signal_all(leader, Signal::KILL);
    match ended {
        Ok(status) => status,
        Err(_) => child.wait().await,
    }
}

type Kept = Arc<Mutex<Vec<u8>>>;

async fn keep(pipe: Option<impl AsyncRead + Unpin>, kept: Kept) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = [0; 8192];
    while let Ok(count @ 1..) = pipe.read(&mut buffer).await {
        let mut kept = kept.lock();
        let room = KEPT_BYTES.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&buffer[..room]);
    }
}
