//! `mycode exec --each`: reads the tasks, leaves out what is done, and works through the rest.

use std::path::{Path, PathBuf};

use super::args::{EachArgs, TaskLimits};
use super::batch::BatchRun;
use super::child;
use super::tasks::{self, BatchTask, Results};
use crate::cli::args::{ModelArgs, SharedArgs};
use crate::cli::report::Failure;
use crate::cli::runs::record::{HeldRun, RunKind, RunRecord};
use crate::cli::setup::open;
use base::config::paths::Paths;
use base::{file, text};

pub async fn run(
    cli: &SharedArgs,
    args: &EachArgs,
    limits: &TaskLimits,
    file: &Path,
    json: bool,
    run_id: &str,
) -> Result<u8, Failure> {
    let root = open::workspace(cli.model.folder.as_deref())?;
    if file == Path::new(tasks::STDIN) && args.results.is_none() {
        let hint = "name the file that says what is done, so that the same command can continue after a kill";
        return Err(Failure::usage("--each - needs --results FILE", hint));
    }
    let mut tasks = tasks::read(file)?;
    if let Some(part) = args.only {
        let mut index = 0..;
        tasks.retain(|_| index.next().is_some_and(|index| part.has(index)));
    }
    let path = args.results.clone().unwrap_or_else(|| results_path(file, args));
    let results = Results::open(&path)?;
    results.settle(&mut tasks);
    let all: Vec<BatchTask> = tasks.clone();
    tasks.retain(|task| results.code(&task.id).is_none_or(|code| args.again && code != 0));
    let name = batch_name(&path);
    // The limit is that of all tasks together.
    let max_cost = cli.model.max_cost;
    let flags = child::flags(&ModelArgs { max_cost: None, ..cli.model.clone() }, limits);
    let mut batch = BatchRun::new(root, &name, results, json)?;
    (batch.flags, batch.copy, batch.max_cost) = (flags, args.copy, max_cost);
    let jobs = args.jobs.unwrap_or(1).max(1);
    batch.check(&tasks, jobs).await?;
    let done = all.len() - tasks.len();
    if done > 0 {
        eprintln!("{} of {} have a result already.", done, text::plural(all.len(), "task"));
    }
    let limit = max_cost.map_or(String::new(), |usd| format!(", at most {} in all", text::dollars(usd)));
    let asked = format!("{}: {}{limit}", file.display(), text::plural(all.len(), "task"));
    let record = RunRecord {
        tree: Some(batch.folder.clone()),
        results: Some(path.clone()),
        ..RunRecord::new(run_id, RunKind::Batch, &asked, &batch.root)
    };
    let work = batch.work_through(&all, &tasks, jobs, &path);
    HeldRun::during(&Paths::from_env().project(&batch.root), &record, work).await
}

fn results_path(file: &Path, args: &EachArgs) -> PathBuf {
    let part = args.only.map_or(String::new(), |part| format!(".{}-of-{}", part.number, part.of));
    file.with_extension(format!("results{part}.jsonl"))
}

/// Names folders and branches after the results file, which knows what is done.
fn batch_name(results: &Path) -> String {
    let full = results.canonicalize().unwrap_or_else(|_| results.to_owned());
    let stem = results.file_name().unwrap_or_default().to_string_lossy();
    let stem = stem.split('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let stem: String = stem.chars().map(plain).take(40).collect();
    format!("{}-{}", stem.trim_matches('-'), &file::hash(full.as_os_str().as_encoded_bytes())[..6])
}
