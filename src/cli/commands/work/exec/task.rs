//! One task of `mycode exec`, from its prompt to its answer.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use super::args::ExecArgs;
use super::trajectory::TrajectoryWriter;
use super::{piped, setup};
use crate::cli::args::SharedArgs;
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::runs::log as run_log;
use crate::cli::runs::record::{self, HeldRun, RunKind, RunRecord};
use crate::cli::setup::open::{self, SessionSelector};
use agent::assemble::{self, Handle};
use base::config::paths::Paths;
use base::protocol::goal::Goal;
use context::session::log;
use frontend::exec::output_schema::OutputSchema;
use frontend::exec::run::{self, ExecStart, OutputForm};

const LAST_WRITES: Duration = Duration::from_secs(5);

/// What the run is called, and where it was started if its session works elsewhere.
pub struct RunPlace<'a> {
    pub id: &'a str,
    pub started_in: Option<&'a Path>,
    pub session: &'a str,
}

pub async fn run(
    cli: &SharedArgs,
    args: &ExecArgs,
    which: &SessionSelector,
    schema: Option<OutputSchema>,
    run: RunPlace<'_>,
) -> Result<u8, Failure> {
    let (prompt, beside) = prompt(args)?;
    let is_new = matches!(which, SessionSelector::New);
    if prompt.trim().is_empty() && (is_new || args.limits.until.is_some()) {
        return Err(empty_task());
    }
    report::check_output(args.output.as_deref())?;
    let (images, asked) = (args.form.images()?, prompt.clone());
    let mut setup = setup::setup(cli, args, which).await?;
    let prompt = setup::with_known_command(prompt, &setup)?;
    setup.limits.schema = schema.as_ref().map(OutputSchema::value);
    let form = args.form.form(&setup, args.json);
    let start = match &args.limits.until {
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
    if is_new {
        setup.session_id.get_or_insert_with(|| run.session.to_owned());
    }
    let (project_state, folder) = (setup.project_state.clone(), setup.workspace.clone());
    let started_in = run.started_in.unwrap_or(&folder);
    let mut handle = assemble::start(setup)?;
    let kind = if args.limits.until.is_some() { RunKind::Goal } else { RunKind::Exec };
    let record = RunRecord {
        session: Some(handle.session.clone()),
        tree: run.started_in.map(|_| folder.clone()),
        ..RunRecord::new(run.id, kind, &asked, started_in)
    };
    let state = Paths::from_env().project(started_in);
    // The tasks of a batch are part of its run.
    let is_own = args.each.batch_process.is_none();
    if is_own {
        handle.events = run_log::follow(handle.events, &record::path_of(&state, run.id));
    }
    let work = work(args, handle, start, form, schema, &project_state);
    if is_own { HeldRun::during(&state, &record, work).await } else { work.await }
}

/// The task, and text that was piped in beside it.
pub fn prompt(args: &ExecArgs) -> Result<(String, Option<String>), Failure> {
    Ok(match args.prompt.as_deref() {
        Some("-") => (report::standard_input()?, None),
        Some(prompt) => (prompt.to_owned(), piped::beside_prompt()?),
        // At a terminal, reading would wait for input that we never asked for.
        None if std::io::stdin().is_terminal() => (String::new(), None),
        None => (report::standard_input()?, None),
    })
}

async fn work(
    args: &ExecArgs,
    handle: Handle,
    start: ExecStart,
    form: OutputForm,
    schema: Option<OutputSchema>,
    project_state: &Path,
) -> Result<u8, Failure> {
    let log = log::path_of(project_state, &handle.session);
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
    report::write_output(args.output.as_deref(), outcome.answer.as_deref())?;
    Ok(match args.form.format {
        Some(_) => run::failed_or_not(&outcome.end),
        None => outcome.exit_code,
    })
}

pub fn empty_task() -> Failure {
    Failure::usage("the task is empty", "describe the task: mycode exec \"fix the failing test\"")
}
