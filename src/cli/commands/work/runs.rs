//! `mycode ps`, `logs`, `attach` and `stop`: the runs on this machine, also those in the background.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use crate::cli::report::{self, Failure};
use crate::cli::runs::log::RunLog;
use crate::cli::runs::{record, state};
use base::clock;
use base::system::os::{self, Signal};
use base::text::{dollars, one_line};

const LISTED: usize = 20;
const TASK_CHARS: usize = 60;
const STATE_CHARS: usize = 75;
const SHOWN_LINES: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);
/// Finishing a step or ending a command may take this long.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Args, Debug)]
pub struct PsArgs {
    /// Include recent runs that have ended
    #[arg(short, long)]
    pub all: bool,

    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug)]
pub struct RunArgs {
    /// The run or its session (a prefix is enough)
    pub id: String,
}

#[derive(Args, Debug)]
pub struct LogsArgs {
    /// The run or its session (a prefix is enough); without it, the newest run
    pub id: Option<String>,

    /// Keep printing until the run ends
    #[arg(short, long)]
    pub follow: bool,
}

pub fn ps(args: &PsArgs) -> Result<(), Failure> {
    let mut runs = record::everywhere();
    runs.retain(|run| run.running || args.all);
    runs.truncate(if args.all { LISTED } else { usize::MAX });
    let mut out = String::new();
    for run in &runs {
        let cost = state::figures(run).total.cost_usd();
        let state = state::of(run);
        if args.json {
            let mut line = json!(run);
            line["state"] = json!(state);
            line["cost_usd"] = json!(cost);
            line["log"] = json!(Some(run.log()).filter(|log| log.exists()));
            out.push_str(&format!("{line}\n"));
            continue;
        }
        let since = clock::local_minute(run.record.started_ms);
        let cost = cost.map_or(String::new(), |cost| format!("  {}", dollars(cost)));
        let (id, folder) = (&run.record.id, run.record.folder.display());
        let (task, state) = (one_line(&run.record.task, TASK_CHARS), one_line(&state, STATE_CHARS));
        out.push_str(&format!("{id}  since {since}{cost}  {folder}\n    {task}\n    {state}\n"));
    }
    if out.is_empty() && !args.json {
        out.push_str("Nothing is running. `mycode exec --bg \"task\"` starts a run in the background.\n");
    }
    report::show(args.json, &out)
}

pub fn logs(args: &LogsArgs) -> Result<(), Failure> {
    let run = match &args.id {
        Some(id) => record::find(id)?,
        None => record::newest()?,
    };
    let mut log = RunLog::open(run)?;
    if args.follow { log.follow().map(drop) } else { log.print() }
}

pub fn attach(args: &RunArgs) -> Result<u8, Failure> {
    let mut log = RunLog::open(record::find(&args.id)?)?;
    log.skip_to_last(SHOWN_LINES)?;
    let run = log.follow()?;
    match run.end {
        Some(end) => Ok(end.exit_code),
        None => Err(Failure::task(format!("run {} was killed", run.record.id), state::how_to_continue(&run))),
    }
}

pub fn stop(args: &RunArgs) -> Result<(), Failure> {
    let run = record::find(&args.id)?;
    let id = &run.record.id;
    if !run.running {
        let hint = "`mycode ps` lists what is running";
        return Err(Failure::usage(format!("run {id} isn't running: {}", state::of(&run)), hint));
    }
    let Some(process) = run.record.process() else {
        let hint = "stop it there";
        return Err(Failure::task(format!("run {id} is on another machine or in another container"), hint));
    };
    // The first signal ends the work as Ctrl-C does, the second one at once.
    if !ends(process, &run.path) && !ends(process, &run.path) {
        let hint = format!("`kill -9 {}` ends it; its session stays", process);
        return Err(Failure::task(format!("run {id} didn't stop"), hint));
    }
    report::say(&format!("Stopped {id}. {}.\n", state::how_to_continue(&run)))
}

fn ends(process: i32, path: &Path) -> bool {
    os::send(process, Signal::TERM);
    let deadline = Instant::now() + PATIENCE;
    while record::read(path.to_owned()).is_some_and(|run| run.running) {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(PAUSE);
    }
    true
}
