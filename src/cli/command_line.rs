//! The command line: all subcommands; the arguments of each are beside its code.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::cli::args::{SharedArgs, THEMES, choice};
use crate::cli::commands::doctor::models::ModelsArgs;
use crate::cli::commands::mcp::manage::McpArgs;
use crate::cli::commands::peers::import::ImportArgs;
use crate::cli::commands::project::locate::LocateArgs;
use crate::cli::commands::project::notes::NotesArgs;
use crate::cli::commands::project::plugin::PluginArgs;
use crate::cli::commands::project::policy::PolicyArgs;
use crate::cli::commands::project::sandbox::SandboxArgs;
use crate::cli::commands::project::skills::SkillsArgs;
use crate::cli::commands::project::trust::TrustArgs;
use crate::cli::commands::sessions::context::ContextArgs;
use crate::cli::commands::sessions::export::ExportArgs;
use crate::cli::commands::sessions::list::SessionsArgs;
use crate::cli::commands::sessions::replay_args::ReplayArgs;
use crate::cli::commands::sessions::report::ReportArgs;
use crate::cli::commands::sessions::rewind::RewindArgs;
use crate::cli::commands::work::branches::WorkArgs;
use crate::cli::commands::work::build::BuildArgs;
use crate::cli::commands::work::chat::ResumeArgs;
use crate::cli::commands::work::demo::DemoArgs;
use crate::cli::commands::work::exec::args::ExecArgs;
use crate::cli::commands::work::maintain::MaintainArgs;
use crate::cli::commands::work::review::ReviewArgs;
use crate::cli::commands::work::runs::{LogsArgs, PsArgs, RunArgs};
use crate::cli::commands::work::tool::ToolArgs;
use crate::cli::each::args as each;
use crate::cli::foreign::{help as scripts, translate};
use crate::cli::report::{self, Failure};
use base::config::theme::ThemeName;
use base::protocol::notice;
use base::search::fuzzy;

/// A coding agent in your terminal that accounts for every token in the context window.
///
/// Without a command it opens the interactive chat and sends PROMPT, if given, as the first message.
#[derive(Debug, Parser)]
#[command(name = "mycode", version, args_override_self = true)]
pub struct Cli {
    #[command(flatten)]
    pub shared: SharedArgs,

    /// Run PROMPT without the chat and print the answer, as `mycode exec` does
    #[arg(short = 'p', long)]
    pub print: bool,

    /// Colors of the chat: auto, dark, light, high-contrast or ansi
    #[arg(long, value_name = "NAME", hide_possible_values = true, value_parser = choice::<ThemeName>(THEMES))]
    pub theme: Option<ThemeName>,

    /// The first message, in quotes or not
    pub prompt: Vec<String>,

    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

impl Cli {
    pub fn prompt(&self) -> Option<String> {
        (!self.prompt.is_empty()).then(|| self.prompt.join(" "))
    }

    /// Ends the program after wrong arguments, `--help` or `--version`.
    pub fn from_env() -> Result<Self, Failure> {
        let mut args = std::env::args_os();
        let program = args.next();
        let args: Vec<OsString> = args.collect();
        // Command lines written for other agents become `exec`.
        let named = |name: &str| name == "exec" || args.iter().any(|arg| arg == name);
        let mut command =
            with_shared(|subcommand| named(subcommand.get_name()) || subcommand.get_all_aliases().any(named));
        let (args, notes) = translate::translated(args, &command)?;
        notes.iter().for_each(|note| report::note(note));
        let read = command.try_get_matches_from_mut(program.into_iter().chain(args.iter().cloned()));
        let matches = read.unwrap_or_else(|error| with_nearest(error, &command, &args).exit());
        Ok(Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
    }
}

/// Suggests the nearest option; clap alone suggests `--mode` for `--modle`.
fn with_nearest(mut error: clap::Error, command: &clap::Command, args: &[OsString]) -> clap::Error {
    let mut chosen = command;
    for arg in args {
        chosen = chosen.find_subcommand(arg).unwrap_or(chosen);
    }
    let wrong = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(wrong)) if error.kind() == ErrorKind::UnknownArgument => wrong.clone(),
        _ => return error,
    };
    let options = chosen.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(clap::Arg::get_long);
    if let Some(near) = wrong.strip_prefix("--").and_then(|wrong| fuzzy::mistyped(wrong, options)) {
        error.insert(ContextKind::SuggestedArg, ContextValue::String(format!("--{near}")));
        error.insert(ContextKind::Usage, ContextValue::None);
    }
    error
}

pub fn command() -> clap::Command {
    with_shared(|_| true)
}

/// Every command accepts the shared options, but help shows only those that affect the command.
fn with_shared(theirs: impl Fn(&clap::Command) -> bool) -> clap::Command {
    let own = ["print", "prompt", "theme"];
    let command = Cli::command()
        .mut_args(|arg| if own.contains(&arg.get_id().as_str()) { arg } else { arg.global(true) });
    let shared: Vec<clap::Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    command.mut_subcommands(|subcommand| {
        if !theirs(&subcommand) {
            return subcommand;
        }
        let name = subcommand.get_name().to_owned();
        subcommand.args(
            shared
                .iter()
                .map(|arg| arg.clone().hide(arg.is_hide_set() || !acts(&name, arg.get_id().as_str()))),
        )
    })
}

fn acts(subcommand: &str, option: &str) -> bool {
    match subcommand {
        "demo" | "completions" | "man" | "update" | "scripts" | "login" | "logout" | "ps" | "logs"
        | "attach" | "stop" => false,
        _ if option == "folder" => true,
        _ if option == "plain" => subcommand == "resume",
        "exec" => true,
        _ if option == "wait" => matches!(subcommand, "build" | "maintain" | "resume" | "review"),
        "acp" => !matches!(option, "continue_last" | "fork"),
        "maintain" => option != "mode",
        "work" => matches!(option, "provider" | "base_url" | "model" | "permission" | "max_cost"),
        "build" | "review" => !matches!(option, "continue_last" | "mode" | "fork"),
        "resume" => option != "continue_last",
        "import" => !matches!(option, "continue_last" | "fork"),
        "doctor" => !matches!(
            option,
            "continue_last" | "max_steps" | "fork" | "max_cost" | "allow" | "deny" | "add_dir"
        ),
        "models" => matches!(option, "provider" | "base_url" | "header" | "model"),
        "plugin" => option == "trust",
        "tool" | "policy" | "sandbox" => matches!(option, "permission" | "trust" | "add_dir"),
        "context" => option == "context_window",
        _ => false,
    }
}

#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run one task without the chat and print the answer, or many (--each)
    #[command(after_help = each::HELP)]
    Exec(Box<ExecArgs>),
    /// Serve an editor over standard input and output (Agent Client Protocol)
    Acp,
    /// Build a larger change: specification, plan, code, review
    Build(BuildArgs),
    /// Review a diff with a fresh reviewer: findings with location and severity
    Review(ReviewArgs),
    /// Manage branches left by batches and builds: list, diff, test, merge, discard
    Work(WorkArgs),
    /// List running tasks, batches and builds, in the background or not
    Ps(PsArgs),
    /// Print the output of a background run
    Logs(LogsArgs),
    /// Follow a background run until it ends; Ctrl-C detaches
    Attach(RunArgs),
    /// Stop a run, as Ctrl-C does; finished work is kept
    Stop(RunArgs),
    /// Maintain the project (explore, analyze, plan, do) and save findings as notes
    Maintain(MaintainArgs),
    /// Continue a session of this project
    Resume(ResumeArgs),
    /// Continue a session started in Claude Code, Codex CLI, Gemini CLI or opencode
    Import(ImportArgs),
    /// List this project's sessions
    Sessions(SessionsArgs),
    /// Undo turns of a session: files, conversation, or both
    Rewind(RewindArgs),
    /// Report the work and cost of a session, or of all sessions since a date
    Report(ReportArgs),
    /// Write a session as Markdown, HTML, JSON or a picture of the terminal (SVG)
    Export(ExportArgs),
    /// Show what fills a session's context window, item by item
    Context(ContextArgs),
    /// List, search, write and archive the project's notes
    Notes(NotesArgs),
    /// Play a session on a sample project, without a key or network
    Demo(DemoArgs),
    /// MCP servers: list, add, test and import them, or serve this project to other agents
    Mcp(McpArgs),
    /// Run one tool and print its result as JSON
    Tool(ToolArgs),
    /// List the available skills, or show one
    Skills(SkillsArgs),
    /// Find the files that matter for a task
    Locate(LocateArgs),
    /// Run a command in the sandbox that the agent uses
    Sandbox(SandboxArgs),
    /// Rebuild a session's requests and verify them, or compare context policies and costs on recorded sessions
    Replay(ReplayArgs),
    /// Check whether a shell command may run, and why
    Policy(PolicyArgs),
    /// Trust this folder's own configuration (model, server, permission level), and new rules files
    Trust(TrustArgs),
    /// List the hooks (commands that run on events), where they come from and whether they are trusted
    Hooks,
    /// Plugins (bundles of skills, commands, sub-agents, hooks, MCP servers): add, list and remove them
    Plugin(PluginArgs),
    /// Print a JSON Schema: events (what `exec --json` prints) or review
    Schema {
        /// events or review
        what: SchemaOf,
    },
    /// List the models of the configured server, and of other vendors whose keys are set
    Models(ModelsArgs),
    /// Save an API key (typed or from standard input), or list the saved ones
    #[command(after_help = notice::NO_SUBSCRIPTIONS)]
    Login {
        /// The vendor, such as openai
        vendor: Option<String>,
        /// Get the key from the vendor's website (openrouter)
        #[arg(long, requires = "vendor")]
        browser: bool,
        /// Codex's way to save OpenAI's key from standard input
        #[arg(long, hide = true, conflicts_with = "vendor")]
        with_api_key: bool,
    },
    /// Remove a saved API key
    Logout {
        /// The vendor, such as openai
        vendor: String,
    },
    /// Show the configuration and test the model, sandbox and server
    Doctor {
        /// Print the annotated default configuration
        #[arg(long)]
        config: bool,
    },
    /// Show how scripts and SDKs for Claude Code and Codex can run mycode
    #[command(long_about = scripts::page())]
    Scripts,
    /// Show how to update this copy of mycode
    Update,
    /// Print the manual page, or that of a command (mycode man | man -l -)
    Man {
        /// The command, such as exec
        command: Option<String>,

        /// List the commands that have a page
        #[arg(long, conflicts_with = "command")]
        list: bool,
    },
    /// Print a shell completion script
    #[command(alias = "completion")]
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    Events,
    Review,
}
