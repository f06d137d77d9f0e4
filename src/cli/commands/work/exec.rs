//! `mycode exec`: one task without the screen.

use std::io::{IsTerminal, Read};

use crate::agent::build;
use crate::cli::args::{Cli, ExecArgs};
use crate::cli::each::child;
use crate::cli::each::run as each;
use crate::cli::report::Failure;
use crate::cli::setup::open::{self, Which};
use crate::config::settings::{Permission, WorkSettings};
use crate::exec::run::{self, ExecOptions};
use crate::sandbox::probe;

/// The most that is read from standard input as a prompt, in bytes.
const MAX_STDIN: u64 = 10 * 1024 * 1024;

/// Runs the task; gives the exit code.
///
/// # Errors
/// What keeps it from beginning.
pub async fn run(cli: &Cli, args: &ExecArgs) -> Result<u8, Failure> {
    if let Some(file) = &args.each.each {
        if cli.continue_last {
            return Err(Failure::usage(
                "a batch continues no session",
                "leave out --continue; half-done tasks continue their own sessions",
            ));
        }
        return each::run(cli, &args.each, file, args.json).await;
    }
    if let Some(batch) = args.each.batch_process {
        child::end_with(batch)?;
    }
    let prompt = match args.prompt.as_deref() {
        Some("-") => from_stdin()?,
        Some(prompt) => prompt.to_owned(),
        // At a terminal it would wait for words that nobody was asked for.
        None if std::io::stdin().is_terminal() => String::new(),
        None => from_stdin()?,
    };
    if prompt.trim().is_empty() {
        return Err(Failure::usage(
            "the task is empty",
            "describe the task: mycode exec \"fix the failing test\"",
        ));
    }
    let which = match (&args.resume, cli.continue_last) {
        (Some(id), _) => Which::Id(id.clone()),
        (None, true) => Which::Last,
        (None, false) => Which::New,
    };
    let setup = open::setup(cli, false, &which).await?;
    refuse_unconfined(&setup.loaded.work)?;
    let handle = build::start(setup)?;
    let outcome = run::run(handle.ops, handle.events, prompt, ExecOptions::detect(args.json)).await;
    written(outcome.lost.as_deref())?;
    Ok(outcome.exit_code)
}

/// Nobody watches here: a level that the kernel can't hold is not run as if it could.
///
/// # Errors
/// When this machine cannot hold the level.
pub fn refuse_unconfined(work: &WorkSettings) -> Result<(), Failure> {
    let demanded = work.sandbox && matches!(work.permission, Permission::ReadOnly | Permission::Auto);
    match demanded.then(|| probe::status().refusal()).flatten() {
        Some(why) => Err(Failure::config(
            format!("permission level {} can't be enforced: {why}", work.permission.as_str()),
            "`mycode doctor` shows what is missing; --permission full, or sandbox = false in your config.toml, runs without a sandbox",
        )),
        None => Ok(()),
    }
}

/// Whether the output came out; `lost` says why not.
///
/// # Errors
/// When it did not.
pub fn written(lost: Option<&str>) -> Result<(), Failure> {
    match lost {
        Some(error) => Err(Failure::task(
            format!("the output could not be written: {error}"),
            "the work is in the session; `mycode resume --last` shows it",
        )),
        None => Ok(()),
    }
}

fn from_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(MAX_STDIN + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_STDIN {
        return Err(Failure::usage(
            "standard input is larger than 10 MiB",
            "put the text into a file and name the file in the task",
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
