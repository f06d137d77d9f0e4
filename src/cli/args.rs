//! The arguments, as clap reads them: dumb data whose doc comments are the help. Turning them into settings happens in
//! `open`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cli::commands::notes_args::NotesArgs;
use crate::config::settings::{Permission, ProviderKind};

/// A coding agent in your terminal that accounts for every token in the window.
///
/// Without a subcommand it opens the chat; a prompt given here is sent at once.
#[derive(Debug, Parser)]
#[command(name = "mycode", version, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub model: ModelArgs,

    /// Continue this project's last session
    #[arg(short = 'c', long = "continue", global = true)]
    pub continue_last: bool,

    /// What to do first
    pub prompt: Option<String>,

    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Which model, and what it may do.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelArgs {
    /// openai (and everything compatible), anthropic or scripted
    #[arg(long, global = true, help_heading = "Model")]
    pub provider: Option<ProviderKind>,

    /// Model name
    #[arg(short, long, global = true, help_heading = "Model")]
    pub model: Option<String>,

    /// Server address, such as http://localhost:11434/v1
    #[arg(long, global = true, help_heading = "Model", value_name = "URL")]
    pub base_url: Option<String>,

    /// Answers for the scripted provider, one JSON object a line
    #[arg(long, global = true, help_heading = "Model", value_name = "FILE")]
    pub script: Option<PathBuf>,

    /// Size of the model's window in tokens
    #[arg(long, global = true, help_heading = "Model", value_name = "TOKENS")]
    pub context_window: Option<u64>,

    /// Extra request header "Name: value"
    #[arg(long, global = true, help_heading = "Model", value_name = "HEADER")]
    pub header: Vec<String>,

    /// read-only, ask, auto or full
    #[arg(short, long, global = true, help_heading = "Work", value_name = "LEVEL")]
    pub permission: Option<Permission>,

    /// Model replies per turn
    #[arg(long, global = true, help_heading = "Work", value_name = "N")]
    pub max_steps: Option<u32>,

    /// Trust this folder's own configuration, this once
    #[arg(long, global = true, help_heading = "Work")]
    pub trust: bool,

    /// Work in this folder
    #[arg(short = 'C', long = "cd", global = true, help_heading = "Work", value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one task without the screen and print the answer
    Exec(ExecArgs),
    /// Continue a session of this project
    Resume(ResumeArgs),
    /// List this project's sessions
    Sessions(SessionsArgs),
    /// Undo turns of a session: its files, its conversation, or both
    Rewind(RewindArgs),
    /// Show what a session's next request would hold, and what each part costs
    Context(ContextArgs),
    /// What the project should remember: list, search, write and put away notes
    Notes(NotesArgs),
    /// Play a real session on a sample project: no key, no network
    Demo,
    /// Run one tool here and print its envelope
    Tool(ToolArgs),
    /// Rank the files that a task is about
    Locate(LocateArgs),
    /// Run a command in the sandbox that the agent's commands run in
    Sandbox(SandboxArgs),
    /// Make a session's requests again and check them, or compare context policies on recordings
    Replay(ReplayArgs),
    /// Say whether a command may run, and why
    Policy(PolicyArgs),
    /// Let this folder's own configuration redirect the model and set the permission
    Trust(TrustArgs),
    /// Show what is configured and whether it works
    Doctor(DoctorArgs),
    /// Print a shell completion script
    Completions {
        /// bash, zsh, fish, elvish or powershell
        shell: clap_complete::Shell,
    },
}

#[derive(Args, Debug)]
pub struct ExecArgs {
    /// The task; `-`, or none in a pipe, reads it from standard input
    pub prompt: Option<String>,

    /// One JSON event a line on standard output
    #[arg(long)]
    pub json: bool,

    /// Continue this session
    #[arg(long, value_name = "ID")]
    pub resume: Option<String>,
}

#[derive(Args, Debug)]
pub struct ResumeArgs {
    /// The session, or the beginning of its id
    pub id: Option<String>,

    /// The session that was changed last; what follows is then the prompt
    #[arg(long)]
    pub last: bool,

    /// What to do next
    pub prompt: Option<String>,
}

#[derive(Args, Debug)]
pub struct SessionsArgs {
    /// One JSON object a line
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct RewindArgs {
    /// The session, or the beginning of its id; the last one when left out
    pub session: Option<String>,

    /// Go back to before this point, as the list names it (12, u1); without it the points are listed
    #[arg(long, value_name = "POINT")]
    pub to: Option<String>,

    /// Only the files
    #[arg(long, conflicts_with_all = ["conversation", "both"])]
    pub files: bool,

    /// Only the conversation
    #[arg(long, conflicts_with = "both")]
    pub conversation: bool,

    /// Conversation and files (what is done when nothing else is said)
    #[arg(long)]
    pub both: bool,

    /// Show what would be done and do nothing
    #[arg(long)]
    pub preview: bool,

    /// Do it
    #[arg(long)]
    pub yes: bool,

    /// Also overwrite what somebody else changed since
    #[arg(long)]
    pub force: bool,

    /// JSON instead of text
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ContextArgs {
    /// The session, the beginning of its id, or its file; the last one when left out
    pub session: Option<String>,

    /// Where an item came from and what was done to it (an id of the list, such as 12 or rules)
    #[arg(long, value_name = "ID")]
    pub why: Option<String>,

    /// One JSON object
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct ToolArgs {
    /// The tool, such as Read; `-` reads calls {"tool","args"} from standard input, one a line
    pub name: String,

    /// The arguments as a JSON object
    #[arg(long, default_value = "{}")]
    pub args: String,
}

#[derive(Args, Debug)]
pub struct LocateArgs {
    /// What should change; `-` reads it from standard input
    pub query: String,

    /// One JSON array
    #[arg(long)]
    pub json: bool,

    /// How many files
    #[arg(short = 'k', long, value_name = "N", default_value_t = 10)]
    pub limit: usize,

    /// Show what each signal adds to a file's score
    #[arg(long)]
    pub explain: bool,
}

#[derive(Args, Debug)]
pub struct SandboxArgs {
    /// Let it reach the network
    #[arg(long)]
    pub network: bool,

    /// The command: one word is a line for bash, several are a program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

#[derive(Args, Debug)]
pub struct PolicyArgs {
    #[command(subcommand)]
    pub command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Print the verdict over a command: allow, ask or deny
    Check(CheckArgs),
}

#[derive(Args, Debug)]
pub struct CheckArgs {
    /// One JSON object
    #[arg(long)]
    pub json: bool,

    /// Whether the command would run in a sandbox; `auto`: as it would here
    #[arg(long, value_name = "AUTO|YES|NO", default_value = "auto")]
    pub confined: Confined,

    /// The command, behind `--`; several words are joined with spaces
    #[arg(last = true, required = true)]
    pub words: Vec<String>,
}

/// Whether a sandbox holds the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Confined {
    Auto,
    Yes,
    No,
}

#[derive(Args, Debug)]
pub struct TrustArgs {
    /// Take the trust back
    #[arg(long)]
    pub revoke: bool,
}

#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Print the annotated default configuration
    #[arg(long)]
    pub config: bool,
}

#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// A session of this project (or its file): every request is made again from the log and checked
    #[arg(required_unless_present = "trace", conflicts_with = "trace")]
    pub session: Option<String>,

    /// Recorded sessions (.jsonl or .jsonl.gz), or folders of them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub trace: Vec<PathBuf>,

    /// raw, last5, seed, eco, default, high or all (the default for traces): what each would have cost and kept
    #[arg(long)]
    pub policy: Option<String>,

    /// Size of the model's window in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 128_000)]
    pub window: u64,

    /// Price of a cached input token as a share of an uncached one
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub cached_price: f64,

    /// One JSON object instead of a table
    #[arg(long)]
    pub json: bool,

    /// Write every request as it would have been sent, one a line (one session, or one trace and one policy)
    #[arg(long, value_name = "FILE")]
    pub dump: Option<PathBuf>,
}
