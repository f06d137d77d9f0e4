//! `mycode exec`: runs one task without the screen.

use std::io::IsTerminal;
use std::path::Path;

use super::exec_args::ExecArgs;
use super::piped;
use crate::cli::args::Cli;
use crate::cli::each::child;
use crate::cli::each::run as each;
use crate::cli::report::Failure;
use crate::cli::setup::agent_setup;
use crate::cli::setup::open::Which;
use base::config::settings::{Permission, WorkSettings};
use base::file;
use frontend::exec::output_schema::OutputSchema;
use frontend::exec::run::{self, ExecOptions};
use guard::sandbox::probe;

const MAX_SCHEMA: u64 = 1024 * 1024;

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
    if let Some(file) = args.output.as_deref().filter(|file| !can_hold(file)) {
        return Err(Failure::usage(
            format!("--output {}: there is no folder for it", file.display()),
            "create the folder first, or name another file",
        ));
    }
    let schema = args.output_schema.as_deref().map(schema).transpose()?;
    let setup = agent_setup::setup(cli, false, &which).await?;
    refuse_unconfined(&setup.loaded.work)?;
    let prompt = piped::attached(prompt, beside, &setup.project_state);
    let handle = agent_setup::start(setup)?;
    let options = ExecOptions { schema, ..ExecOptions::detect(args.json) };
    let outcome = run::run(handle.ops, handle.events, prompt, options).await;
    written(outcome.lost.as_deref())?;
    if let (Some(file), Some(answer)) = (&args.output, &outcome.answer) {
        std::fs::write(file, format!("{}\n", answer.trim_end())).map_err(|error| {
            Failure::task(
                format!("the answer could not be written to {}: {error}", file.display()),
                "`mycode resume --last` shows it",
            )
        })?;
    }
    Ok(outcome.exit_code)
}

/// No user is watching, so a level that the kernel can't enforce must not run.
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

/// `lost` is why the output couldn't be written.
pub fn written(lost: Option<&str>) -> Result<(), Failure> {
    match lost {
        Some(error) => Err(Failure::task(
            format!("the output could not be written: {error}"),
            "the work is in the session; `mycode resume --last` shows it",
        )),
        None => Ok(()),
    }
}

/// Whether the file can be written: checked before the work, not after.
fn can_hold(file: &Path) -> bool {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.is_none_or(Path::is_dir) && !file.is_dir()
}

fn schema(file: &Path) -> Result<OutputSchema, Failure> {
    let text =
        file::small_text(file, MAX_SCHEMA).ok_or("it can't be read as text of at most 1 MiB".to_owned());
    text.and_then(|text| OutputSchema::parse(&text)).map_err(|why| {
        Failure::usage(
            format!("--output-schema {}: {why}", file.display()),
            "`mycode help exec` says what it is for; a schema is an object such as {\"type\": \"object\", …}",
        )
    })
}
