//! The arguments of `mycode skills` and `mycode locate`.

use clap::Args;

#[derive(Args, Debug)]
pub struct SkillsArgs {
    /// Show this one as the model gets it
    pub name: Option<String>,

    /// Print one JSON array
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct LocateArgs {
    /// The task in words; `-` reads standard input
    #[arg(required_unless_present = "with", default_value = "", hide_default_value = true)]
    pub query: String,

    /// A file of the change: rank what belongs to it (tests, callers, what changes together); may be repeated
    #[arg(long, value_name = "FILE")]
    pub with: Vec<String>,

    /// Print one JSON array
    #[arg(long)]
    pub json: bool,

    /// Maximum number of files
    #[arg(short = 'k', long, value_name = "N", default_value_t = 10)]
    pub limit: usize,

    /// Show what each signal adds to a file's score
    #[arg(long)]
    pub explain: bool,
}
