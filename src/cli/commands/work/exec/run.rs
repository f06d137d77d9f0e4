//! `mycode exec`: decides whether the work is one task, many, or led by another program.

use super::args::ExecArgs;
use super::task::RunPlace;
use super::{host, piped, setup, task, worktree};
use crate::cli::args::SharedArgs;
use crate::cli::each::run as each;
use crate::cli::each::{attempts, child};
use crate::cli::report::Failure;
use crate::cli::runs::background;
use crate::cli::setup::open::{self, SessionSelector};
use base::config::paths::Paths;

pub async fn run(cli: &SharedArgs, args: &ExecArgs) -> Result<u8, Failure> {
    if args.background.bg {
        return background::start(cli.model.folder.as_deref(), args.json).await;
    }
    let run_id = args.background.begin();
    if let Some(file) = &args.each.each {
        if cli.continue_last {
            let hint = "leave out --continue; half-done tasks continue their own sessions";
            return Err(Failure::usage("--each can't be used with --continue", hint));
        }
        return each::run(cli, &args.each, &args.limits, file, args.json, &run_id).await;
    }
    if let Some(batch) = args.each.batch_process {
        child::end_with(batch)?;
    }
    let which = match (&args.resume, cli.continue_last) {
        (Some(id), _) => SessionSelector::Id(id.clone()),
        (None, true) => SessionSelector::LastOrNew,
        (None, false) => SessionSelector::New,
    };
    if args.limits.until.as_ref().is_some_and(|check| check.trim().is_empty()) {
        return Err(Failure::usage("--until needs a command", "name one, such as --until 'cargo test -q'"));
    }
    if let Some(number) = args.attempts {
        return attempts(cli, args, number.into(), &run_id).await;
    }
    let schema = args.output_schema.as_deref().map(setup::schema).transpose()?;
    if args.form.host {
        return host::run(cli, args, &which, schema).await;
    }
    if args.worktree {
        return worktree::run(cli, args, &which, schema, &run_id).await;
    }
    task::run(cli, args, &which, schema, RunPlace { id: &run_id, started_in: None, session: &run_id }).await
}

async fn attempts(cli: &SharedArgs, args: &ExecArgs, number: usize, run_id: &str) -> Result<u8, Failure> {
    let root = open::workspace(cli.model.folder.as_deref())?;
    let (prompt, beside) = task::prompt(args)?;
    if prompt.trim().is_empty() {
        return Err(task::empty_task());
    }
    let task = piped::attached(prompt, beside, &Paths::from_env().project(&root));
    attempts::run(&root, (&cli.model, &args.limits), (&task, number), args.json, run_id).await
}
