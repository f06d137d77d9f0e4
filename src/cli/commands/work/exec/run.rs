//! `mycode exec`: runs one task without the screen.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::form::FormArgs;
use super::trajectory::TrajectoryWriter;
use super::{host, piped, setup};
use crate::cli::args::SharedArgs;
use crate::cli::each::args::{EachArgs, TaskLimits};
use crate::cli::each::child;
use crate::cli::each::run as each;
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::agent_setup;
use crate::cli::setup::open::{self, SessionSelector};
use base::protocol::goal::Goal;
use context::session::log;
use frontend::exec::run::{self, ExecStart, OutputForm};

#[derive(Args, Debug, Default)]
pub struct ExecArgs {
    /// The task; `-`, or no argument in a pipe, reads standard input. Text that is piped in beside a task is attached to it
    pub prompt: Option<String>,

    /// Print one JSON event per line (`mycode schema events` describes them)
    #[arg(long)]
    pub json: bool,

    /// Continue this session (its id, or the beginning of it)
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,

    /// Also write the answer to FILE
    #[arg(short, long, value_name = "FILE", visible_alias = "output-last-message", conflicts_with = "each")]
    pub output: Option<PathBuf>,

    /// Require the final answer to match the JSON Schema in FILE, or given as {…} (one retry)
    #[arg(long, value_name = "FILE", conflicts_with = "each")]
    pub output_schema: Option<String>,

    #[command(flatten)]
    pub form: FormArgs,

    /// Write the run to FILE as a trajectory (ATIF), anew after each step
    #[arg(long, value_name = "FILE", conflicts_with = "each")]
    pub trajectory: Option<PathBuf>,

    /// Before the end, run the project's tests and have the changes reviewed; the model is told the findings once
    #[arg(long, conflicts_with = "each")]
    pub review: bool,

    #[command(flatten)]
    pub limits: TaskLimits,

    #[command(flatten)]
    pub each: EachArgs,
}

const LAST_WRITES: Duration = Duration::from_secs(5);

pub async fn run(cli: &SharedArgs, args: &ExecArgs) -> Result<u8, Failure> {
    if let Some(file) = &args.each.each {
        if cli.continue_last {
            return Err(Failure::usage(
                "--each can't be used with --continue",
                "leave out --continue; half-done tasks continue their own sessions",
            ));
        }
        return each::run(cli, &args.each, &args.limits, file, args.json).await;
    }
    if let Some(batch) = args.each.batch_process {
        child::end_with(batch)?;
    }
    let which = match (&args.resume, cli.continue_last) {
        (Some(id), _) => SessionSelector::Id(id.clone()),
        (None, true) => SessionSelector::Last,
        (None, false) => SessionSelector::New,
    };
    let schema = args.output_schema.as_deref().map(setup::schema).transpose()?;
    if args.form.host {
        return host::run(cli, args, &which, schema).await;
    }
    let mut beside = None;
    let prompt = match args.prompt.as_deref() {
        Some("-") => piped::all()?,
        Some(prompt) => {
            beside = piped::beside_prompt()?;
            prompt.to_owned()
        }
        // At a terminal, reading would wait for input that we never asked for.
        None if std::io::stdin().is_terminal() => String::new(),
        None => piped::all()?,
    };
    let is_new = matches!(which, SessionSelector::New);
    if prompt.trim().is_empty() && (is_new || args.limits.until.is_some()) {
        return Err(empty_task());
    }
    if let Some(file) = args.output.as_deref().filter(|file| !can_hold(file)) {
        return Err(Failure::usage(
            format!("--output {}: there is no folder for it", file.display()),
            "create the folder first, or name another file",
        ));
    }
    let images = args.form.images()?;
    let mut setup = setup::setup(cli, args, &which).await?;
    setup::refuse_unknown_command(&prompt, &setup)?;
    setup.limits.has_schema = schema.is_some();
    let form = args.form.form(&setup).unwrap_or(OutputForm::detect(args.json));
    let start = match &args.limits.until {
        Some(check) if check.trim().is_empty() => {
            return Err(Failure::usage(
                "--until has no command",
                "name one, such as --until 'cargo test -q'",
            ));
        }
        Some(check) => {
            let text = piped::attached(prompt, beside, &setup.project_state);
            ExecStart::Goal(Goal { text, check: check.clone() })
        }
        None if prompt.trim().is_empty() => match setup.resume.as_deref().map(open::has_goal) {
            Some(true) => ExecStart::NextRound,
            _ => return Err(empty_task()),
        },
        None => ExecStart::Prompt(piped::attached(prompt, beside, &setup.project_state), images),
    };
    let project_state = setup.project_state.clone();
    let handle = agent_setup::start(setup)?;
    let log = log::path_of(&project_state, &handle.session);
    let trajectory = args.trajectory.as_deref().map(|file| TrajectoryWriter::new(log, file));
    let events = match &trajectory {
        Some(writer) => writer.follow(handle.events),
        None => handle.events,
    };
    let outcome = run::run(handle.ops, events, start, form, schema).await;
    if let Some(writer) = trajectory {
        let _ = tokio::time::timeout(LAST_WRITES, handle.task).await;
        writer
            .finish()
            .or_task("the trajectory could not be written", "`mycode export --format atif` writes it too")?;
    }
    report::written(outcome.lost.as_deref())?;
    if let (Some(file), Some(answer)) = (&args.output, &outcome.answer) {
        std::fs::write(file, format!("{}\n", answer.trim_end())).or_task(
            format!("the answer could not be written to {}", file.display()),
            "`mycode resume --last` shows it",
        )?;
    }
    Ok(outcome.exit_code)
}

fn empty_task() -> Failure {
    Failure::usage("the task is empty", "describe the task: mycode exec \"fix the failing test\"")
}

/// Whether the file can be written: checked before the work, not after.
fn can_hold(file: &Path) -> bool {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.is_none_or(Path::is_dir) && !file.is_dir()
}
