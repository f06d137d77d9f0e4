//! The arguments, for clap: plain data whose doc comments are the help. `open` turns them into settings.

use std::path::PathBuf;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::cli::choice::{MODES, PERMISSIONS, PHASES, PROVIDERS, STAGES, choice};
use crate::cli::commands::mcp::args::McpArgs;
use crate::cli::commands::peers::import_args::ImportArgs;
use crate::cli::commands::project::look_args::{LocateArgs, SkillsArgs};
use crate::cli::commands::project::notes_args::NotesArgs;
use crate::cli::commands::project::policy_args::PolicyArgs;
use crate::cli::commands::sessions::export_args::ExportArgs;
use crate::cli::commands::sessions::replay_args::ReplayArgs;
use crate::cli::commands::work::exec_args::ExecArgs;
use crate::cli::each::args as each;
use base::config::mode::Mode;
use base::config::settings::{Permission, ProviderKind};
use base::protocol::maintain::Phase;

/// A coding agent in your terminal that accounts for every token in the context window.
///
/// Without a command it opens the interactive chat and sends PROMPT, if given, as the first message.
#[derive(Debug, Parser)]
#[command(name = "mycode", version)]
pub struct Cli {
    #[command(flatten)]
    pub model: ModelArgs,

    /// Continue the last session of this project
    #[arg(short = 'c', long = "continue", global = true)]
    pub continue_last: bool,

    /// Continue in a copy of the session, which stays as it is
    #[arg(long, global = true)]
    pub fork: bool,

    /// Chat line by line, for screen readers and simple terminals (also MYCODE_PLAIN=1)
    #[arg(long, global = true)]
    pub plain: bool,

    /// Run PROMPT without the chat and print the answer, as `mycode exec` does
    #[arg(short = 'p', long)]
    pub print: bool,

    /// The first message
    pub prompt: Option<String>,

    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// Wrong arguments, `--help` and `--version` end the program.
    pub fn from_env() -> Self {
        let matches = command().get_matches();
        Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
    }
}

/// Every command accepts the shared options anywhere, but its help shows only those that affect it.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let shared: Vec<clap::Arg> = command.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    command.mut_subcommands(|subcommand| {
        let name = subcommand.get_name().to_owned();
        subcommand.args(shared.iter().map(|arg| arg.clone().hide(!acts(&name, arg.get_id().as_str()))))
    })
}

fn acts(subcommand: &str, option: &str) -> bool {
    match subcommand {
        "demo" | "completions" | "man" | "update" => false,
        _ if option == "folder" => true,
        _ if option == "plain" => subcommand == "resume",
        "exec" => true,
        "acp" => !matches!(option, "continue_last" | "fork"),
        "maintain" => option != "mode",
        "build" => !matches!(option, "continue_last" | "mode" | "fork"),
        "resume" => option != "continue_last",
        "import" => !matches!(option, "continue_last" | "fork"),
        "doctor" => !matches!(option, "continue_last" | "max_steps" | "fork" | "max_cost" | "allow" | "deny"),
        "tool" | "policy" | "sandbox" => matches!(option, "permission" | "trust"),
        "context" => option == "context_window",
        _ => false,
    }
}

/// The options that all commands share: which model, and what it may do.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelArgs {
    /// openai (and compatible servers), anthropic or scripted
    #[arg(long, global = true, help_heading = "Model", hide_possible_values = true, value_parser = choice::<ProviderKind>(PROVIDERS))]
    pub provider: Option<ProviderKind>,

    /// Model name
    #[arg(short, long, global = true, help_heading = "Model")]
    pub model: Option<String>,

    /// Server address, such as http://localhost:11434/v1
    #[arg(long, global = true, help_heading = "Model", value_name = "URL")]
    pub base_url: Option<String>,

    /// Replies for the scripted provider, one JSON object per line
    #[arg(long, global = true, help_heading = "Model", value_name = "FILE")]
    pub script: Option<PathBuf>,

    /// Size of the model's context window in tokens
    #[arg(long, global = true, help_heading = "Model", value_name = "TOKENS")]
    pub context_window: Option<u64>,

    /// Extra request header, as "Name: value"; can be repeated
    #[arg(long, global = true, help_heading = "Model", value_name = "HEADER")]
    pub header: Vec<String>,

    /// What may run without asking: read-only, ask, auto or full
    #[arg(long, global = true, help_heading = "Session", value_name = "LEVEL", hide_possible_values = true, value_parser = choice::<Permission>(PERMISSIONS))]
    pub permission: Option<Permission>,

    /// How to go about it: auto, explore, analyze or plan (all but auto only read)
    #[arg(long, global = true, help_heading = "Session", value_name = "MODE", hide_possible_values = true, value_parser = choice::<Mode>(MODES))]
    pub mode: Option<Mode>,

    /// Maximum number of model replies per task (a turn in Claude Code's count)
    #[arg(long, visible_alias = "max-turns", global = true, help_heading = "Session", value_name = "N")]
    pub max_steps: Option<u32>,

    /// Stop when the run has cost this much, in US dollars, sub-agents included
    #[arg(
        long,
        visible_alias = "max-budget-usd",
        global = true,
        help_heading = "Session",
        value_name = "USD"
    )]
    pub max_cost: Option<f64>,

    /// Allow this without asking, such as 'Bash(cargo test)', Edit or 'WebFetch(docs.rs)'; can be repeated
    #[arg(
        long,
        visible_alias = "allowedTools",
        global = true,
        help_heading = "Session",
        value_name = "RULE"
    )]
    pub allow: Vec<String>,

    /// Never do this, such as 'Bash(git push *)', 'Edit(migrations/**)' or Task; can be repeated
    #[arg(
        long,
        visible_alias = "disallowedTools",
        global = true,
        help_heading = "Session",
        value_name = "RULE"
    )]
    pub deny: Vec<String>,

    /// Trust this folder's own configuration for this run
    #[arg(long, global = true, help_heading = "Session")]
    pub trust: bool,

    /// Work in this folder
    #[arg(short = 'C', long = "cd", global = true, help_heading = "Session", value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one task without the chat and print the answer, or many (--each)
    #[command(after_help = each::HELP)]
    Exec(ExecArgs),
    /// Serve an editor over standard input and output (Agent Client Protocol)
    Acp,
    /// Build a larger change: specification, plan, code, review
    Build(BuildArgs),
    /// Look after the project: explore, analyze, plan, do; what is learned is kept in its notes
    Maintain(MaintainArgs),
    /// Continue a session of this project
    Resume(ResumeArgs),
    /// Continue a session that was begun in Claude Code, Codex CLI, Gemini CLI or opencode
    Import(ImportArgs),
    /// List this project's sessions
    Sessions(SessionsArgs),
    /// Undo turns of a session: files, conversation, or both
    Rewind(RewindArgs),
    /// Report what a session, or all since some day, did and cost
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
    /// Print a JSON Schema: events, what `exec --json` prints
    Schema {
        /// events
        what: SchemaOf,
    },
    /// Show the configuration and test the model, sandbox and server
    Doctor {
        /// Print the annotated default configuration
        #[arg(long)]
        config: bool,
    },
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
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
pub struct BuildArgs {
    /// The task
    pub task: Option<String>,

    /// Continue this build (its id, or the beginning of it)
    #[arg(long, value_name = "ID", conflicts_with = "task")]
    pub resume: Option<String>,

    /// Continue the last build
    #[arg(long, conflicts_with_all = ["task", "resume"])]
    pub last: bool,

    /// List this project's builds
    #[arg(long)]
    pub list: bool,

    /// Stop after a stage, so that you can edit its file: spec, plan, code or review
    #[arg(long, value_name = "STAGE", hide_possible_values = true, value_parser = choice::<String>(STAGES))]
    pub pause_after: Option<String>,

    /// Commit each subtask
    #[arg(long)]
    pub commit: bool,

    /// Do up to N independent subtasks at the same time, in git worktrees (implies --commit)
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    pub parallel: usize,

    /// Print one JSON event per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct MaintainArgs {
    /// What to look after [default: the project as a whole]
    pub task: Option<String>,

    /// Run this phase only: explore, analyze, plan or do
    #[arg(long, value_name = "PHASE", hide_possible_values = true, value_parser = choice::<Phase>(PHASES))]
    pub phase: Option<Phase>,

    /// Print one JSON event per line
    #[arg(long)]
    pub json: bool,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    Events,
}

/// What the demo plays.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Story {
    /// A session that fixes a failing test
    Fix,
    /// A build: specification, plan, two subtasks, review
    Build,
}

#[derive(Args, Debug)]
pub struct DemoArgs {
    /// What to play
    #[arg(long, default_value = "fix")]
    pub story: Story,
}

#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The session's id, or the beginning of it; without one, choose from a list
    pub id: Option<String>,

    /// Continue the last session; the argument is then the prompt
    #[arg(long)]
    pub last: bool,

    /// The next message
    pub prompt: Option<String>,
}

#[derive(Args, Debug)]
pub struct SessionsArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct RewindArgs {
    /// The session's id, or the beginning of it [default: the last session]
    pub session: Option<String>,

    /// Rewind to before this point, as listed (12, u1); without it, list the points
    #[arg(long, value_name = "POINT")]
    pub to: Option<String>,

    /// Rewind files only
    #[arg(long, conflicts_with_all = ["conversation", "both"])]
    pub files: bool,

    /// Rewind the conversation only
    #[arg(long, conflicts_with = "both")]
    pub conversation: bool,

    /// Rewind files and conversation (the default)
    #[arg(long)]
    pub both: bool,

    /// Show what would change, without changing it
    #[arg(long)]
    pub preview: bool,

    /// Rewind; without it, only a preview is shown
    #[arg(long)]
    pub yes: bool,

    /// Also overwrite files that were changed outside of mycode since
    #[arg(long)]
    pub force: bool,

    /// Print JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ContextArgs {
    /// The session's id (or the beginning of it) or log file [default: the last session]
    pub session: Option<String>,

    /// Show the history of one item, by its id in the list (such as 12 or rules)
    #[arg(long, value_name = "ID")]
    pub why: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The session's id (or the beginning of it) or log file [default: the last session]
    pub session: Option<String>,

    /// Report all that was done in this project since then: 7d, 24h, 2w or 2026-11-01
    #[arg(long, value_name = "WHEN", conflicts_with = "session")]
    pub since: Option<String>,

    /// Print one JSON object with all figures
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ToolArgs {
    /// The tool, such as Read; `-` reads one call {"tool", "args"} per line from standard input
    pub name: String,

    /// The arguments as a JSON object
    #[arg(long, default_value = "{}")]
    pub args: String,
}

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SandboxArgs {
    #[command(subcommand)]
    pub action: Option<SandboxAction>,

    /// Allow network access
    #[arg(long)]
    pub network: bool,

    /// The command: one argument is run by bash, several are a program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Subcommand)]
pub enum SandboxAction {
    /// Put back what the sandbox moved aside, or list it
    Restore(RestoreArgs),
}

#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// List what was moved aside, also without NAME
    #[arg(long)]
    pub list: bool,

    /// What to put back: its name in the list (or the beginning of it), or its path
    pub name: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct TrustArgs {
    /// Revoke the trust
    #[arg(long)]
    pub revoke: bool,
}
