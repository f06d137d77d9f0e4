//! The table of subcommands: what runs each, and whether it needs a runtime. A new one needs a line here.

use super::doctor::{models, run as doctor};
use super::install::{login, man, update};
use super::mcp::manage::{self, McpCommand};
use super::mcp::{serve, test};
use super::peers::import;
use super::project::{hooks, locate, notes, plugin, policy, sandbox, skills, trust};
use super::sessions::{context, export, list, replay_traces, report as report_command, rewind};
use super::work::exec::args::ExecArgs;
use super::work::exec::run as exec;
use super::work::{acp, branches, build, chat, demo, maintain, review, runs, tool};
use crate::cli::args::SharedArgs;
use crate::cli::command_line::{self, Cli, CliCommand, SchemaOf};
use crate::cli::foreign::help as scripts;
use crate::cli::report::{self, Failure, OrFail};
use crate::cli::setup::open::SessionSelector;
use base::protocol::exit_code::ExitCode;
use base::search::fuzzy;
use base::search::words::listed;
use frontend::exec::json;

pub fn run(cli: &Cli) -> Result<u8, Failure> {
    let shared = &SharedArgs { theme: cli.theme, ..cli.shared.clone() };
    let done = |result: Result<(), Failure>| result.map(|()| 0);
    let Some(command) = &cli.command else {
        if cli.print {
            let args = ExecArgs { prompt: cli.prompt(), ..ExecArgs::default() };
            return in_runtime(exec::run(shared, &args));
        }
        refuse_mistyped_command(cli)?;
        let which = if shared.continue_last { SessionSelector::Last } else { SessionSelector::New };
        return in_runtime(chat::chat(shared, cli.prompt(), which, None));
    };
    match command {
        CliCommand::Completions { shell } => {
            // Not directly to standard output: clap panics when the reader (`| head`) is gone.
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut command_line::command(), "mycode", &mut script);
            done(report::print(&String::from_utf8_lossy(&script)))
        }
        CliCommand::Man { command, list } => done(man::run(command.as_deref(), *list)),
        CliCommand::Update => done(update::run()),
        CliCommand::Scripts => done(report::print(&scripts::page())),
        CliCommand::Login { vendor, browser, with_api_key } => {
            let vendor = vendor.as_deref().or(with_api_key.then_some("openai"));
            done(in_runtime(login::login(vendor, *browser)))
        }
        CliCommand::Logout { vendor } => done(in_runtime(login::change_key(vendor, None))),
        CliCommand::Context(args) => done(context::run(shared, args)),
        CliCommand::Sessions(args) => done(list::run(shared, args)),
        CliCommand::Locate(args) => done(locate::run(shared, args)),
        CliCommand::Skills(args) => done(skills::run(shared, args)),
        CliCommand::Notes(args) => done(notes::run(shared, args)),
        CliCommand::Policy(args) => done(policy::run(shared, args)),
        CliCommand::Trust(args) => done(trust::run(shared, args)),
        CliCommand::Hooks => done(hooks::run(shared)),
        CliCommand::Plugin(args) => done(in_runtime(plugin::run(shared, args))),
        CliCommand::Schema { what: SchemaOf::Events } => done(report::print(json::SCHEMA)),
        CliCommand::Schema { what: SchemaOf::Review } => done(report::print(review::SCHEMA)),
        CliCommand::Replay(args) => done(replay_traces::run(shared, args)),
        CliCommand::Export(args) => done(export::run(shared, args)),
        CliCommand::Report(args) => done(in_runtime(report_command::run(shared, args))),
        CliCommand::Rewind(args) => {
            let code = |all| if all { ExitCode::Done } else { ExitCode::SetAside };
            rewind::run(shared, args).map(|all| code(all) as u8)
        }
        CliCommand::Sandbox(args) => sandbox::run(shared, args),
        CliCommand::Mcp(args) => match &args.command {
            None => done(manage::list(shared, false)),
            Some(McpCommand::List { json }) => done(manage::list(shared, *json)),
            Some(McpCommand::Add(args)) => done(manage::add(shared, args)),
            Some(McpCommand::AddJson { name, json, .. }) => done(manage::add_json(shared, name, json)),
            Some(McpCommand::Rm { name, .. }) => done(manage::remove(shared, name)),
            Some(McpCommand::Logout { name }) => done(manage::logout(shared, name)),
            Some(McpCommand::Import { from, preview }) => {
                done(manage::import(shared, from.as_deref(), *preview))
            }
            Some(McpCommand::Test(args)) => in_runtime(test::run(shared, args)).map(|good| u8::from(!good)),
            Some(McpCommand::Login { name }) => done(in_runtime(test::login(shared, name))),
            Some(McpCommand::Serve) => done(in_runtime(serve::run(shared))),
        },
        CliCommand::Resume(args) => in_runtime(chat::resume(shared, args)),
        CliCommand::Import(args) => in_runtime(import::run(shared, args)),
        CliCommand::Exec(args) => in_runtime(exec::run(shared, args)),
        CliCommand::Acp => in_runtime(acp::run(shared)),
        CliCommand::Maintain(args) => in_runtime(maintain::run(shared, args)),
        CliCommand::Review(args) => in_runtime(review::run(shared, args)),
        CliCommand::Work(args) => in_runtime(branches::run(shared, args)),
        CliCommand::Ps(args) => done(runs::ps(args)),
        CliCommand::Logs(args) => done(runs::logs(args)),
        CliCommand::Attach(args) => runs::attach(args),
        CliCommand::Stop(args) => done(runs::stop(args)),
        CliCommand::Build(args) => in_runtime(build::run(shared, args)),
        CliCommand::Demo(args) => in_runtime(demo::run(args.story)),
        CliCommand::Tool(args) => in_runtime(tool::run(shared, args)).map(|good| u8::from(!good)),
        CliCommand::Models(args) => done(in_runtime(models::run(shared, args))),
        CliCommand::Doctor { config } => in_runtime(doctor::run(shared, *config))
            .map(|works| if works { 0 } else { ExitCode::Config as u8 }),
    }
}

fn in_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.or_task("can't start", "try again")?;
    let done = runtime.block_on(work);
    // A tool that is still cleaning up, or a blocking read, must not delay the exit.
    runtime.shutdown_background();
    done
}

/// Another agent's command, the words that may follow it, and our command.
const ELSEWHERE: [(&str, &str, &str); 11] = [
    ("run", "", "exec"),
    ("fork", "", "-c --fork"),
    ("auth", "login logout status", "login"),
    ("config", "get list set", "doctor --config"),
    ("features", "list", "doctor --config"),
    ("init", "", "\"/init\""),
    ("stats", "", "report"),
    ("usage", "", "report"),
    ("serve", "", "acp"),
    ("agents", "", "ps"),
    ("upgrade", "", "update"),
];

/// One lowercase word is likely a mistyped command, unless `--` or a session to continue is given.
fn refuse_mistyped_command(cli: &Cli) -> Result<(), Failure> {
    let prompt = cli.prompt().unwrap_or_default();
    let word = prompt.as_str();
    let (first, second) = (cli.prompt.first().map(String::as_str), cli.prompt.get(1));
    let elsewhere = ELSEWHERE
        .iter()
        .find(|(theirs, more, _)| first == Some(*theirs) && second.is_none_or(|second| listed(more, second)));
    let is_word = !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'_');
    let is_command = is_word || elsewhere.is_some();
    if !is_command || cli.shared.continue_last || std::env::args_os().any(|arg| arg == "--") {
        return Ok(());
    }
    let command = command_line::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    let meant = match elsewhere.map(|(.., ours)| *ours).or_else(|| fuzzy::nearest_name(word, names)) {
        Some(name) => format!("did you mean `mycode {name}`? "),
        None => String::new(),
    };
    let hint = format!("{meant}`mycode --help` lists all commands; to send it as a prompt: mycode -- {word}");
    Err(Failure::usage(format!("unknown command '{word}'"), hint))
}
