//! `mycode exec`: its arguments, and which way the work goes: one task, many, or led by another program.

use std::path::PathBuf;

use clap::Args;

use super::form::FormArgs;
use super::{host, setup, task};
use crate::cli::args::SharedArgs;
use crate::cli::each::args::{EachArgs, TaskLimits};
use crate::cli::each::child;
use crate::cli::each::run as each;
use crate::cli::report::Failure;
use crate::cli::runs::background::{self, BackgroundArgs};
use crate::cli::setup::open::SessionSelector;

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
    pub background: BackgroundArgs,

    #[command(flatten)]
    pub limits: TaskLimits,

    #[command(flatten)]
    pub each: EachArgs,
}

pub async fn run(cli: &SharedArgs, args: &ExecArgs) -> Result<u8, Failure> {
    if args.background.bg {
        return background::start(cli.model.folder.as_deref(), args.json).await;
    }
    let run_id = args.background.begin();
    if let Some(file) = &args.each.each {
        if cli.continue_last {
            return Err(Failure::usage(
                "--each can't be used with --continue",
                "leave out --continue; half-done tasks continue their own sessions",
            ));
        }
        return each::run(cli, &args.each, &args.limits, file, args.json, &run_id).await;
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
    match args.form.host {
        true => host::run(cli, args, &which, schema).await,
        false => task::run(cli, args, &which, schema, &run_id).await,
    }
}
