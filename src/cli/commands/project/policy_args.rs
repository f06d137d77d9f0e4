//! The arguments of `mycode policy`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Debug)]
pub struct PolicyArgs {
    #[command(subcommand)]
    pub command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub enum PolicyCommand {
    /// Print the verdict for a command: allow, ask or deny
    Check(CheckArgs),
}

#[derive(Args, Debug)]
pub struct CheckArgs {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,

    /// Assume that the command runs in a sandbox; auto: as on this machine
    #[arg(long, value_name = "AUTO|YES|NO", default_value = "auto")]
    pub confined: Confined,

    /// The command, after `--`; several words are joined with spaces
    #[arg(last = true, required = true)]
    pub words: Vec<String>,
}

/// Whether a sandbox is assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Confined {
    Auto,
    Yes,
    No,
}
