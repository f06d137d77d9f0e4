//! The table of subcommands: what runs each, and whether it needs a runtime. A new one needs a line here.

use super::doctor::run as doctor;
use super::install::{man, update};
use super::mcp::args::McpCommand;
use super::mcp::{manage, serve, test};
use super::peers::import;
use super::project::{hooks, locate, notes, policy, sandbox, skills, trust};
use super::sessions::{context, export, list, replay_traces, report as report_command, rewind};
use super::work::exec::ExecArgs;
use super::work::{acp, build, chat, demo, exec, maintain, tool};
use crate::cli::command_line::{self, Cli, Command, SchemaOf};
use crate::cli::report::{self, Failure, FailureKind};
use crate::cli::setup::open::SessionSelector;
use base::search::fuzzy;
use frontend::exec::events;

/// Runs commands that need no runtime; `None` for the others.
pub fn run_at_once(cli: &Cli) -> Option<Result<u8, Failure>> {
    let done = |result: Result<(), Failure>| Some(result.map(|()| 0));
    let shared = &cli.shared;
    match cli.command.as_ref()? {
        Command::Completions { shell } => {
            // Not directly to standard output: clap panics when the reader (`| head`) is gone.
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command_line::command(), "mycode", &mut script);
            done(report::print(&String::from_utf8_lossy(&script)))
        }
        Command::Man { command, list } => done(man::run(command.as_deref(), *list)),
        Command::Update => done(update::run()),
        Command::Context(args) => done(context::run(shared, args)),
        Command::Sessions(args) => done(list::run(shared, args)),
        Command::Locate(args) => done(locate::run(shared, args)),
        Command::Skills(args) => done(skills::run(shared, args)),
        Command::Notes(args) => done(notes::run(shared, args)),
        Command::Policy(args) => done(policy::run(shared, args)),
        Command::Trust(args) => done(trust::run(shared, args)),
        Command::Hooks => done(hooks::run(shared)),
        Command::Schema { what: SchemaOf::Events } => done(report::print(events::SCHEMA)),
        Command::Replay(args) => done(replay_traces::run(shared, args)),
        Command::Export(args) => done(export::run(shared, args)),
        Command::Report(args) => done(report_command::run(shared, args)),
        Command::Rewind(args) => Some(rewind::run(shared, args).map(|all| u8::from(!all))),
        Command::Sandbox(args) => Some(sandbox::run(shared, args)),
        Command::Mcp(args) => match &args.command {
            None => done(manage::list(shared, false)),
            Some(McpCommand::List { json }) => done(manage::list(shared, *json)),
            Some(McpCommand::Add(args)) => done(manage::add(shared, args)),
            Some(McpCommand::Rm { name }) => done(manage::remove(shared, name)),
            Some(McpCommand::Logout { name }) => done(manage::logout(shared, name)),
            Some(McpCommand::Import { from, preview }) => {
                done(manage::import(shared, from.as_deref(), *preview))
            }
            Some(McpCommand::Test(_) | McpCommand::Login { .. } | McpCommand::Serve) => None,
        },
        Command::Build(_)
        | Command::Import(_)
        | Command::Resume(_)
        | Command::Exec(_)
        | Command::Acp
        | Command::Maintain(_)
        | Command::Demo(_)
        | Command::Tool(_)
        | Command::Doctor { .. } => None,
    }
}

/// Runs the others; returns the exit code.
pub async fn run(cli: &Cli) -> Result<u8, Failure> {
    let shared = &cli.shared;
    match &cli.command {
        None if cli.print => {
            exec::run(shared, &ExecArgs { prompt: cli.prompt.clone(), ..ExecArgs::default() }).await
        }
        None => {
            refuse_mistyped_command(cli)?;
            let which = if cli.shared.continue_last { SessionSelector::Last } else { SessionSelector::New };
            chat::chat(shared, cli.prompt.clone(), which, None).await
        }
        Some(Command::Resume(args)) => chat::resume(shared, args).await,
        Some(Command::Import(args)) => import::run(shared, args).await,
        Some(Command::Exec(args)) => exec::run(shared, args).await,
        Some(Command::Acp) => acp::run(shared).await,
        Some(Command::Maintain(args)) => maintain::run(shared, args).await,
        Some(Command::Build(args)) => build::run(shared, args).await,
        Some(Command::Demo(args)) => demo::run(args.story).await,
        Some(Command::Tool(args)) => Ok(u8::from(!tool::run(shared, args).await?)),
        Some(Command::Doctor { config }) => {
            Ok(if doctor::run(shared, *config).await? { 0 } else { FailureKind::Config as u8 })
        }
        Some(Command::Mcp(args)) => match &args.command {
            Some(McpCommand::Test(args)) => Ok(u8::from(!test::run(shared, args).await?)),
            Some(McpCommand::Login { name }) => test::login(shared, name).await.map(|()| 0),
            Some(McpCommand::Serve) => serve::run(shared).await.map(|()| 0),
            _ => Ok(0),
        },
        Some(_) => Ok(0),
    }
}

/// One lowercase word is more likely a mistyped command than a prompt. `--` in front, or a session to
/// continue, makes it a prompt.
fn refuse_mistyped_command(cli: &Cli) -> Result<(), Failure> {
    let word = cli.prompt.as_deref().unwrap_or_default();
    let is_word = !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'_');
    if !is_word || cli.shared.continue_last || std::env::args_os().any(|arg| arg == "--") {
        return Ok(());
    }
    let command = command_line::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    let meant = match fuzzy::nearest_name(word, names) {
        Some(name) => format!("did you mean `mycode {name}`? "),
        None => String::new(),
    };
    Err(Failure::usage(
        format!("unknown command '{word}'"),
        format!("{meant}`mycode --help` lists all commands; to send it as a prompt: mycode -- {word}"),
    ))
}
