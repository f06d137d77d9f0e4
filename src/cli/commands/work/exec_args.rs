//! The arguments of `mycode exec`.

use std::path::PathBuf;

use clap::Args;

use crate::cli::each::args::EachArgs;

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

    /// The answer is JSON that is valid against the JSON Schema in FILE; corrected once if it is not
    #[arg(long, value_name = "FILE", conflicts_with = "each")]
    pub output_schema: Option<PathBuf>,

    #[command(flatten)]
    pub each: EachArgs,
}
