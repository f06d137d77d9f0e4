//! Joins arguments, agent and front end, and maps how it ended to an exit code.

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use super::args::{Cli, Command, ResumeArgs};
use super::open::Which;
use super::report::{Failure, Kind};
use super::{context, demo, doctor, exec, open, policy, replay, sessions, tool, trust};
use crate::agent::build;
use crate::protocol::op::Op;
use crate::tui::run::{self as tui, TuiOptions, TuiOutcome};
use crate::tui::terminal;

/// The program.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // Commands that need no runtime don't wait for one.
    match &cli.command {
        Some(Command::Completions { shell }) => {
            clap_complete::generate(*shell, &mut Cli::command(), "mycode", &mut std::io::stdout());
            return ExitCode::SUCCESS;
        }
        Some(Command::Context(args)) => {
            return context::run(&cli, args).map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS);
        }
        Some(Command::Sessions(args)) => {
            return sessions::run(&cli, args).map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS);
        }
        Some(Command::Policy(args)) => {
            return policy::run(&cli, args).map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS);
        }
        Some(Command::Trust(args)) => {
            return trust::run(&cli, args).map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS);
        }
        Some(Command::Replay(args)) => {
            return replay::run(args).map_or_else(|failure| failure.report(), |()| ExitCode::SUCCESS);
        }
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            return Failure::new(Kind::Task, format!("the program could not start: {error}"), "try again")
                .report();
        }
    };
    let code = match runtime.block_on(run(&cli)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => failure.report(),
    };
    // A tool that still cleans up, or a blocking read, must not hold up the exit.
    runtime.shutdown_background();
    code
}

async fn run(cli: &Cli) -> Result<u8, Failure> {
    match &cli.command {
        None => {
            let which = if cli.continue_last { Which::Last } else { Which::New };
            chat(cli, cli.prompt.clone(), which, None).await
        }
        Some(Command::Resume(args)) => resume(cli, args).await,
        Some(Command::Exec(args)) => exec::run(cli, args).await,
        Some(Command::Demo) => demo::run().await,
        Some(Command::Tool(args)) => Ok(u8::from(!tool::run(cli, args).await?)),
        Some(Command::Doctor(args)) => Ok(if doctor::run(cli, args).await? { 0 } else { Kind::Config as u8 }),
        Some(
            Command::Context(_)
            | Command::Sessions(_)
            | Command::Replay(_)
            | Command::Policy(_)
            | Command::Trust(_)
            | Command::Completions { .. },
        ) => Ok(0),
    }
}

/// Without an id the screen opens with the list to choose from.
async fn resume(cli: &Cli, args: &ResumeArgs) -> Result<u8, Failure> {
    let last = args.last || cli.continue_last;
    let (which, prompt) = match &args.id {
        Some(text) if last => (Which::Last, Some(text.clone())),
        Some(id) => (Which::Id(id.clone()), args.prompt.clone()),
        None if last => (Which::Last, None),
        None => (Which::New, None),
    };
    let first = matches!(which, Which::New).then_some(Op::ListSessions);
    chat(cli, prompt, which, first).await
}

async fn chat(cli: &Cli, prompt: Option<String>, which: Which, first: Option<Op>) -> Result<u8, Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(Failure::new(
            Kind::Usage,
            "the chat needs a terminal",
            "use `mycode exec \"task\"` in scripts and pipes (`-` reads the task from standard input)",
        ));
    }
    if let Err(message) = terminal::usable() {
        return Err(Failure::new(Kind::Usage, message, "use `mycode exec \"task\"` here"));
    }
    let setup = open::setup(cli, true, &which).await?;
    let handle = build::start(setup)?;
    if let Some(op) = first {
        let _ = handle.ops.send(op);
    }
    let options = TuiOptions { initial_prompt: prompt, no_color: false };
    let outcome = tui::run(handle.ops, handle.events, options).await?;
    let _ = tokio::time::timeout(std::time::Duration::from_secs(2), handle.task).await;
    Ok(match outcome {
        TuiOutcome::Quit => 0,
        TuiOutcome::AgentGone => Kind::Task as u8,
        TuiOutcome::Signal(_) => Kind::Interrupted as u8,
    })
}
