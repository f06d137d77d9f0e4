//! The arguments of a batch, as clap reads them, and the help on running it with other schedulers.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

pub const HELP: &str = include_str!("../help/exec.txt");

#[derive(Args, Clone, Debug, Default)]
pub struct EachArgs {
    /// Run each task of FILE (JSON lines; `-` reads standard input); see below
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "resume"], help_heading = "Many tasks")]
    pub each: Option<PathBuf>,

    /// Run up to N tasks at the same time [default: 1]
    #[arg(long, value_name = "N", requires = "each", help_heading = "Many tasks")]
    pub jobs: Option<usize>,

    /// Append each task's result to this file as one line [default: FILE with .results.jsonl]
    #[arg(long, value_name = "FILE", requires = "each", help_heading = "Many tasks")]
    pub results: Option<PathBuf>,

    /// Work in copies of the folders, not in git worktrees
    #[arg(long, requires = "each", help_heading = "Many tasks")]
    pub copy: bool,

    /// Run only part I of N of the tasks, such as 1/8
    #[arg(long, value_name = "I/N", requires = "each", help_heading = "Many tasks")]
    pub only: Option<Shard>,

    /// Continue the tasks that failed
    #[arg(long, requires = "each", help_heading = "Many tasks")]
    pub again: bool,

    /// The batch that this task belongs to, as a process: without it this one ends
    #[arg(long, hide = true)]
    pub batch_process: Option<u32>,
}

/// The limits of one task, alone or in a batch.
#[derive(Args, Clone, Debug, Default)]
pub struct TaskLimits {
    /// Stop after this many minutes, decimals allowed; the model is notified when the time runs out
    #[arg(long, value_name = "N", value_parser = minutes)]
    pub max_minutes: Option<f64>,

    /// Keep working until CMD exits with 0: it runs in the sandbox after each turn, and the model sees its output
    #[arg(long, value_name = "CMD", conflicts_with = "review")]
    pub until: Option<String>,

    /// Let the model start services that keep running after this run, outside the sandbox
    #[arg(long)]
    pub keep: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(minutes) if (0.5..=1440.0).contains(&minutes) => Ok(minutes),
        _ => Err("use a number of minutes from 0.5 to 1440".to_owned()),
    }
}

/// Part `number` of `of`, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    pub number: usize,
    pub of: usize,
}

impl Shard {
    /// Whether the task at `index` (from 0) belongs to it.
    pub fn has(self, index: usize) -> bool {
        index % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        match parsed {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("use I/N with I from 1 to N, such as 1/8".to_owned()),
        }
    }
}
