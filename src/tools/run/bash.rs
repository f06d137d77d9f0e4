//! Bash: one command line, run in the folder where the previous one ended. `base::process` limits the process.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::report::{CommandRun, SPILL_BYTES};
use super::{foreground, keep};
use crate::api::{Preview, ToolError, ToolOutcome, ToolWork, TypedTool, blocking, object};
use crate::check::find;
use crate::cx::ToolCx;
use crate::paths::{disk_error, target};
use base::model::observation::Command;
use base::process::run::CommandSpec;
use base::text::one_line;
use guard::policy::access::Access;
use guard::sandbox::spec::Confinement;
use guard::sandbox::{launch, probe};
use guard::shell::interpret::call::{Arg, Call};

/// Offered only if services may outlive the run.
pub const KEEP_ARGUMENT: &str = "keep? boolean";
/// On its own line, because the user sees only the first one.
const OWN_NUMBERS: &str = "\n`kill` can't reach it: stop it with Job.";
const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;
const SHORTEST_WAIT: Duration = Duration::from_secs(1);
const FIRST_OUTPUT: Duration = Duration::from_millis(700);
/// Practically unlimited: a job may run as long as the session.
const JOB_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

#[derive(Deserialize)]
pub struct Args {
    command: String,
    timeout_ms: Option<u64>,
    directory: Option<String>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    network: bool,
    #[serde(default)]
    keep: bool,
}

pub struct Bash;

impl TypedTool for Bash {
    type Args = Args;
    const NAME: &'static str = "Bash";
    const ARGUMENTS: &'static str =
        "command, directory?, background? boolean, timeout_ms? integer, network? boolean";
    const WORK: ToolWork<Args> = ToolWork::Async(|args, cx| Box::pin(run(args, cx)));

    fn accepted() -> Value {
        object(&format!("{}, {KEEP_ARGUMENT}", Self::ARGUMENTS))
    }

    fn access(args: &Args, cx: &ToolCx) -> Result<Vec<Access>, ToolError> {
        let cwd = match &args.directory {
            Some(directory) => target(cx, directory)?.resolved.canonical,
            None => cx.shell.cwd(),
        };
        let mut accesses = vec![Access::exec(&args.command, cwd).map_err(ToolError::invalid)?];
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
    cx.files.show(&args.command);
    if args.keep && cx.services.is_some() {
        return keep::start(&args.command, cx, &cwd).await;
    }
    if args.background || args.keep {
        return background(&args, cx, &cwd).await;
    }
    let (command, moves) = (args.command.clone(), args.directory.is_none());
    foreground::wait(CommandRun { command, cwd, moves, timeout }, cx).await
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
    let is_confined = matches!(cx.confinement, Confinement::Confined { .. });
    if !is_confined && cx.calls.iter().any(ends_us) {
        return Err(ToolError::invalid(
            "pkill -f with this pattern would also kill this agent: its command line contains the task. Nothing was run. \
             Anchor the pattern at the program, as in '^python3 server', or use the process id",
        ));
    }
    if let Some((program, instead)) = cx.calls.iter().find_map(full_screen) {
        if cx.by_user {
            return Err(ToolError::invalid(format!(
                "{program} needs a terminal: run it in another one, or press Ctrl-Z and return with `fg`"
            )));
        }
        return Err(ToolError::invalid(format!(
            "{program} needs a terminal, and commands have none. Nothing was run. Use {instead}"
        )));
    }
    let timeout_ms = match args.timeout_ms {
        Some(0) => return Err(ToolError::invalid("timeout_ms is 0; omit it for the default")),
        given => given.unwrap_or(DEFAULT_TIMEOUT_MS).min(MAX_TIMEOUT_MS),
    };
    let asked = Duration::from_millis(timeout_ms);
    // Leave enough time before the deadline to report progress.
    let timeout = cx.deadline.map_or(asked, |deadline| asked.min(deadline.longest_wait().max(SHORTEST_WAIT)));
    Ok((start_folder(args, cx)?, timeout))
}

/// A program that would wait for keys, and what to use instead.
fn full_screen(call: &Call) -> Option<(&str, &'static str)> {
    let mut rows = include_str!("full_screen.txt").lines().filter(|row| !row.starts_with('#'));
    rows.find_map(|row| {
        let [names, instead, harmless] = row.splitn(3, ": ").collect::<Vec<_>>().try_into().ok()?;
        let is_harmless = |arg: &Arg| {
            arg.certain().is_none_or(|arg| harmless.split(' ').any(|start| arg.starts_with(start)))
        };
        let waits = names.split(' ').any(|name| name == call.name()) && !call.args().iter().any(is_harmless);
        waits.then_some((call.name(), instead))
    })
}

fn ends_us(call: &Call) -> bool {
    let is_option = |arg: &&str| arg.starts_with('-');
    let words: Vec<&str> = call.args().iter().filter_map(Arg::certain).collect();
    let whole_line = words
        .iter()
        .filter(|arg| is_option(arg))
        .any(|arg| *arg == "--full" || !arg.starts_with("--") && arg.contains('f'));
    let ours = std::env::args().collect::<Vec<_>>().join(" ");
    let pattern = words.iter().rfind(|arg| !is_option(arg)).and_then(|pattern| Regex::new(pattern).ok());
    call.name() == "pkill" && whole_line && pattern.is_some_and(|pattern| pattern.is_match(&ours))
}

async fn background(args: &Args, cx: &ToolCx, cwd: &Path) -> ToolOutcome {
    let failed = |error: io::Error| ToolError::failed(format!("the job could not be started: {error}"));
    // Without the sandbox, something else must end the job with this process.
    let wrapper =
        cx.sandbox.wrap(cx.confinement.clone(), cwd, None).map_err(failed)?.or_else(launch::end_with_command);
    let spec = CommandSpec {
        wrapper,
        cwd: cwd.to_owned(),
        timeout: args.timeout_ms.map_or(JOB_TIMEOUT, Duration::from_millis),
        spill_cap_bytes: SPILL_BYTES,
        quiet: true,
        is_job: true,
        ..CommandSpec::of_shell(&args.command)
    };
    let path = cx.spill.reserve("job").map_err(failed)?;
    let id = cx.shell.jobs.start(&args.command, spec, path).map_err(failed)?;
    cx.shell.jobs.wait_for_output(id, FIRST_OUTPUT).await;
    let Some(read) = cx.shell.jobs.read(id) else { return Err(failed(io::ErrorKind::NotFound.into())) };
    let check = find::of_command(&args.command, &cx.calls);
    let begun = Command { job: Some(id), check, ..Command::default() };
    let lost = if args.keep { "; it ends with this run: --keep was not given" } else { "" };
    let is_confined = matches!(cx.confinement, Confinement::Confined { .. });
    let has_own_numbers = is_confined && probe::status().layers.namespaces;
    let numbers = if has_own_numbers { OWN_NUMBERS } else { "" };
    Ok(read.envelope(format!("background job {id}: {}{lost}{numbers}", read.status()), begun))
}

/// The command's working folder. A remembered folder that no longer exists is dropped, or every later call would fail.
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
