//! Bash: one command line, run in the folder where the last one ended. `base::process` limits the process.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::visible_output::{Progress, visible_output};
use crate::api::{Preview, ToolError, ToolOutcome, ToolWork, TypedTool, blocking};
use crate::cx::ToolCx;
use crate::paths::{disk_error, target};
use crate::run::file_view::{self, Printed};
use crate::run::network_note;
use base::config::prompts;
use base::model::envelope::{Envelope, EnvelopeError, ErrorCode, Status};
use base::model::observation::{Command, Observation};
use base::path;
use base::process::run::{self, CommandOutcome, CommandSpec, Exit};
use base::text::{human_bytes, one_line, plural};
use guard::policy::access::Access;
use guard::redact::detector::TextSource;
use guard::sandbox::launch;

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;
/// Output kept in memory at each end.
const KEEP_BYTES: usize = 128 * 1024;
const SPILL_BYTES: u64 = 100 * 1024 * 1024;
const FIRST_OUTPUT: Duration = Duration::from_millis(700);
/// Practically unlimited: a job may run as long as the session.
const JOB_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);
/// The file descriptor on which the shell reports its last folder: too high for scripts to use.
const CWD_REPORT_FD: i32 = 62;
/// The simplest shells only know one-digit descriptors.
const CWD_REPORT_FD_SH: i32 = 7;

#[derive(Deserialize)]
pub struct Args {
    command: String,
    timeout_ms: Option<u64>,
    directory: Option<String>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    network: bool,
}

pub struct Bash;

impl TypedTool for Bash {
    type Args = Args;
    const NAME: &'static str = "Bash";
    const DESCRIPTION: &'static str = prompts::TOOL_BASH;
    const ARGUMENTS: &'static str =
        "command, timeout_ms? integer, directory?, background? boolean, network? boolean";
    const WORK: ToolWork<Args> = ToolWork::Async(|args, cx| Box::pin(run(args, cx)));

    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        let cwd = match &args.directory {
            Some(directory) => target(cx, directory)?.resolved.canonical,
            None => cx.shell.cwd(),
        };
        let mut accesses = vec![Access::Exec { command: args.command.clone(), cwd }];
        accesses.extend(args.network.then_some(Access::Network));
        Ok(accesses)
    }

    fn title(args: &Args) -> String {
        format!("Bash {}", one_line(&args.command, 120))
    }

    fn preview(args: &Args, _: &ToolCx) -> Preview {
        Preview::Text(args.command.clone())
    }
}

async fn run(args: Arc<Args>, cx: &ToolCx) -> ToolOutcome {
    let checked = Arc::clone(&args);
    let (cwd, timeout) = blocking(cx, move |cx| check(&checked, cx)).await?;
    if args.background {
        return background(&args, cx, &cwd).await;
    }
    let began = Instant::now();
    let outcome = match start(&args, cx, &cwd, timeout, "bash", CWD_REPORT_FD).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            start(&args, cx, &cwd, timeout, "sh", CWD_REPORT_FD_SH).await
        }
        other => other,
    };
    match outcome {
        Ok(outcome) => {
            let took = began.elapsed();
            blocking(cx, move |cx| Ok(report(&args, cx, &cwd, outcome, timeout, took))).await
        }
        Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => Err(ToolError::invalid(
            "the command is too long for the system (128 KiB); put the text into a file with Write",
        )),
        Err(error) => Err(ToolError::failed(format!("the shell could not be started: {error}"))),
    }
}

fn check(args: &Args, cx: &ToolCx) -> Result<(PathBuf, Duration), ToolError> {
    if args.command.trim().is_empty() {
        return Err(ToolError::invalid("command is empty"));
    }
    if args.command.contains('\0') {
        return Err(ToolError::invalid("command contains a NUL character"));
    }
    if let Some(mark) = cx.redactor.mentioned(&args.command) {
        return Err(ToolError::invalid(format!(
            "{mark} is a placeholder for a secret, and a command cannot use it. Let the command read the secret from the \
             file or variable that holds it"
        )));
    }
    let timeout_ms = match args.timeout_ms {
        Some(0) => return Err(ToolError::invalid("timeout_ms is 0; omit it for the default")),
        given => given.unwrap_or(DEFAULT_TIMEOUT_MS).min(MAX_TIMEOUT_MS),
    };
    Ok((start_folder(args, cx)?, Duration::from_millis(timeout_ms)))
}

async fn background(args: &Args, cx: &ToolCx, cwd: &Path) -> ToolOutcome {
    let failed = |error: io::Error| ToolError::failed(format!("the job could not be started: {error}"));
    // Without the sandbox, something else must end the job with this process.
    let wrapper =
        cx.sandbox.wrap(cx.confinement.clone(), cwd, None).map_err(failed)?.or_else(launch::end_with_command);
    let spec = CommandSpec {
        wrapper,
        program: "bash".into(),
        args: ["-c", &args.command].map(OsString::from).to_vec(),
        cwd: cwd.to_owned(),
        timeout: args.timeout_ms.map_or(JOB_TIMEOUT, Duration::from_millis),
        keep_bytes: 0,
        spill: None,
        spill_cap_bytes: SPILL_BYTES,
        side_fd: None,
    };
    let path = cx.spill.reserve("job").map_err(failed)?;
    let id = cx.shell.jobs.start(&args.command, spec, path).map_err(failed)?;
    cx.shell.jobs.wait_for_output(id, FIRST_OUTPUT).await;
    let Some(read) = cx.shell.jobs.read(id) else { return Err(failed(io::ErrorKind::NotFound.into())) };
    let begun = Command { command: Some(args.command.clone()), job: Some(id), ..Command::default() };
    Ok(read.envelope(format!("background job {id}: {}", read.status()), begun))
}

/// Where the command starts. A remembered folder that is gone is dropped, or every later call would fail too.
fn start_folder(args: &Args, cx: &ToolCx) -> Result<PathBuf, ToolError> {
    if let Some(directory) = &args.directory {
        let target = target(cx, directory)?;
        return match std::fs::metadata(&target.resolved.canonical) {
            Ok(meta) if meta.is_dir() => Ok(target.resolved.canonical),
            Ok(_) => Err(ToolError::invalid(format!("directory {} is a file", target.shown))),
            Err(error) => Err(disk_error(cx, &target, &error.into())),
        };
    }
    let cwd = cx.shell.cwd();
    if cwd.is_dir() {
        return Ok(cwd);
    }
    let gone = cwd.display();
    if cwd != *cx.root && cx.root.is_dir() {
        cx.shell.set_cwd(cx.root.to_path_buf());
        return Err(ToolError::not_found(format!(
            "the current folder {gone} no longer exists. Nothing ran; commands now start in the workspace root"
        )));
    }
    Err(ToolError::not_found(format!(
        "the workspace folder {gone} no longer exists, so no command can run; tell the user"
    )))
}

async fn start(
    args: &Args,
    cx: &ToolCx,
    cwd: &Path,
    timeout: Duration,
    shell: &str,
    side_fd: i32,
) -> io::Result<CommandOutcome> {
    // The shell's last folder comes back on a separate pipe, however the command exits. `eval` makes error
    // messages quote only the command.
    let script =
        format!("trap 'command pwd -P >&{side_fd} 2>/dev/null' EXIT; __mycode=$1; shift; eval \"$__mycode\"");
    let spill = Arc::clone(&cx.spill);
    let spec = CommandSpec {
        wrapper: cx
            .sandbox
            .wrap(cx.confinement.clone(), cwd, Some(side_fd))?
            .or_else(|| launch::end_with_agent(side_fd)),
        program: shell.into(),
        args: ["-c", &script, shell, &args.command].map(OsString::from).to_vec(),
        cwd: cwd.to_owned(),
        timeout,
        keep_bytes: KEEP_BYTES,
        spill: Some(Box::new(move || spill.reserve("bash"))),
        spill_cap_bytes: SPILL_BYTES,
        side_fd: Some(side_fd),
    };
    let mut progress = Progress::default();
    run::run(spec, &cx.cancel, |chunk| progress.feed(chunk, cx)).await
}

fn report(
    args: &Args,
    cx: &ToolCx,
    cwd: &Path,
    outcome: CommandOutcome,
    timeout: Duration,
    took: Duration,
) -> Envelope {
    let mut notes = Vec::new();
    let mut envelope = Envelope::success("");
    let (body, full) = visible_output(&outcome.output, cx, TextSource::of_command(&args.command));
    match outcome.exit {
        _ if outcome.cancelled => {
            envelope =
                Envelope::error(ErrorCode::Interrupted, "the user interrupted the command; it was killed");
        }
        _ if outcome.timed_out => {
            envelope.status = Status::Error;
            let seconds = timeout.as_millis() as f64 / 1000.0;
            let message =
                format!("timed out after {seconds} s; the command and its child processes were killed");
            envelope.error = Some(EnvelopeError { code: ErrorCode::Timeout, message });
        }
        Exit::Code(0) => {}
        Exit::Code(code) => {
            envelope = envelope.partial();
            notes.push(format!("exit code {code}"));
        }
        Exit::Signal(signal) => {
            envelope = envelope.partial();
            notes.push(format!("killed by signal {signal}"));
        }
    }
    let ended_in = end_folder(&outcome.side);
    if args.directory.is_none()
        && let Some(folder) = ended_in.filter(|folder| folder != cwd)
    {
        if folder.is_dir() {
            notes.push(format!("the current folder is now {}", path::display(&cx.root, &folder)));
            cx.shell.set_cwd(folder);
        } else {
            notes.push(format!(
                "{} exists only in the sandbox; the current folder is unchanged",
                folder.display()
            ));
        }
    }
    if !outcome.cancelled && !outcome.timed_out && group_lives(outcome.leader) {
        let count = cx.shell.leftovers.note(outcome.leader, outcome.lifeline);
        if count > 0 {
            notes.push(format!(
                "{} still running in the background until the session ends",
                plural(count, "process")
            ));
        }
    }
    if outcome.output.spill_cut {
        notes.push(format!("the file holds only the first {}", human_bytes(SPILL_BYTES)));
    }
    notes.extend(network_note::of(&cx.confinement, &args.command, &body).map(str::to_owned));
    if body.is_empty() && envelope.error.is_none() {
        notes.push("no output".to_owned());
    }
    envelope.text = notes.join("; ");
    let exit = match outcome.exit {
        Exit::Code(code) => code,
        Exit::Signal(signal) => 128 + signal,
    };
    let mut ran = Command {
        command: Some(args.command.clone()),
        exit_code: Some(exit.into()),
        timed_out: Some(outcome.timed_out),
        cwd: Some(path::display(&cx.root, &cx.shell.cwd())),
        duration_ms: Some(took.as_millis() as u64),
        output_bytes: Some(outcome.output.total_bytes),
        ..Command::default()
    };
    if !outcome.timed_out && !outcome.cancelled {
        let raw = full.is_none().then(|| {
            let (early, late) = outcome.output.tail.as_slices();
            [&outcome.output.head, early, late].concat()
        });
        let printed = Printed { bytes: raw.as_deref().unwrap_or(body.as_bytes()), whole: raw.is_some() };
        ran.view = file_view::of_command(cx, &printed).map(Box::new);
    }
    if let Some(full) = full {
        ran.full_output_path = Some(full.to_string_lossy().into_owned());
        ran.truncated = Some(true);
        ran.output_lines = Some(outcome.output.lines());
    }
    envelope.observed(Observation::Command(ran)).with_body("output", body)
}

fn end_folder(side: &[u8]) -> Option<PathBuf> {
    let name = side.strip_suffix(b"\n")?;
    let folder = PathBuf::from(OsString::from_vec(name.to_vec()));
    folder.is_absolute().then_some(folder)
}

fn group_lives(leader: i32) -> bool {
    rustix::process::Pid::from_raw(leader)
        .is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_found() {
        assert_eq!(end_folder(b"/a\nb\n"), Some(PathBuf::from("/a\nb")));
        assert_eq!(end_folder(b""), None);
    }
}
