//! The arguments of `mycode exec`, as clap reads them.

use std::path::PathBuf;

use clap::Args;

use super::form::FormArgs;
use crate::cli::each::args::{EachArgs, TaskLimits};
use crate::cli::runs::background::BackgroundArgs;

#[derive(Args, Debug, Default)]
pub struct ExecArgs {
    /// The task; `-`, or no argument in a pipe, reads standard input. Text that is piped in along with a task is attached to it
    pub prompt: Option<String>,

    /// Print one JSON event per line (`mycode schema events` describes them)
    #[arg(long)]
    pub json: bool,

    /// Continue this session (its ID, or a prefix of it)
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

    /// Write the run to FILE as a trajectory (ATIF), and update it after each step
    #[arg(long, value_name = "FILE", conflicts_with = "each")]
    pub trajectory: Option<PathBuf>,

    /// Before finishing, run the project's tests and have the changes reviewed; the model gets the findings once
    #[arg(long, conflicts_with = "each")]
    pub review: bool,

    /// Work in a git worktree with your current files, committed or not; `mycode work` shows and merges the result
    #[arg(long, conflicts_with_all = ["each", "continue_last", "fork", "session_id", "host"])]
    pub worktree: bool,

    /// Make N attempts, each in its own worktree, and keep the smallest change that passes CMD; limits apply to all of them together
    #[arg(short = 'n', long, value_name = "N", requires = "until", value_parser = clap::value_parser!(u8).range(1..=20),
          conflicts_with_all = ["each", "worktree", "resume", "continue_last", "fork", "output", "output_schema", "trajectory",
                                "append_system_prompt", "mcp_config", "strict_mcp_config", "session_id", "image", "host"])]
    pub attempts: Option<u8>,

    #[command(flatten)]
    pub background: BackgroundArgs,

    #[command(flatten)]
    pub limits: TaskLimits,

    #[command(flatten)]
    pub each: EachArgs,
}
