//! The arguments of `mycode replay`, as clap reads them. Plain data whose doc comments are the help.

use std::path::PathBuf;

use clap::Args;

use crate::cli::args::{BINDINGS, choice};
use base::config::provider::models::DEFAULT_WINDOW;
use base::config::settings::{Binding, Profile};
use context::compaction::thresholds::Thresholds;

fn threshold(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    let number = value.parse().map_err(|_| format!("'{value}' is not a number"))?;
    let known = Thresholds::of(Profile::Default, DEFAULT_WINDOW).with(name, number);
    known.map(|_| (name.to_owned(), number)).ok_or_else(|| format!("unknown threshold '{name}'"))
}

const HELP: &str = include_str!("../../help/replay.txt");

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct ReplayArgs {
    /// A session's id or log file: every request is rebuilt from the log and verified [default: the last session]
    #[arg(conflicts_with = "trace")]
    pub session: Option<String>,

    /// Recorded sessions (.jsonl or .jsonl.gz), or folders with them
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub trace: Vec<PathBuf>,

    /// What your own sessions in another agent would have cost here: claude, codex, gemini or opencode
    #[arg(long, value_name = "AGENT", conflicts_with_all = ["session", "trace"])]
    pub from: Option<String>,

    /// Only sessions continued since then: 30d, 24h, 2w or 2026-11-01
    #[arg(long, value_name = "WHEN", requires = "from")]
    pub since: Option<String>,

    /// Compare policies by cost and retention: raw, eco, default, high or all [default for traces: all]
    #[arg(long)]
    pub policy: Option<String>,

    /// Size of the model's context window in tokens
    #[arg(long, value_name = "TOKENS", default_value_t = 128_000)]
    pub window: u64,

    /// Price of a cached input token relative to an uncached one
    #[arg(long, value_name = "SHARE", default_value_t = 0.1)]
    pub cached_price: f64,

    /// Price of an uncached input token: above 1 if cache writes cost more
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    pub write_price: f64,

    /// Tokens of system prompt, rules and schemas that every request of a recording carries
    #[arg(long, value_name = "TOKENS", default_value_t = 0)]
    pub system_tokens: u64,

    /// Whether earlier reasoning becomes invalid when anything before it changes
    #[arg(long, default_value = "none", value_parser = choice::<Binding>(BINDINGS))]
    pub binding: Binding,

    /// Replay with another value for a policy threshold, such as `landing=30000`
    #[arg(long, value_name = "NAME=VALUE", value_parser = threshold)]
    pub set: Vec<(String, f64)>,

    /// Show each source of recordings separately, and their mean
    #[arg(long)]
    pub by_source: bool,

    /// Print the comparison of policies as one JSON object instead of a table
    #[arg(long, conflicts_with = "from")]
    pub json: bool,

    /// Print this request as the model would read it, counted from 0 (needs one trace and one policy)
    #[arg(long, value_name = "REQUEST", conflicts_with_all = ["dump", "json"])]
    pub print: Option<usize>,

    /// Write every request to FILE, one per line (needs one session, or one trace and one policy)
    #[arg(long, value_name = "FILE")]
    pub dump: Option<PathBuf>,
}
