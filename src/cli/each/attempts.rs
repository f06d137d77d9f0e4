//! `mycode exec -n N --until CMD`: the same task several times, each in a worktree. Of those whose check passes, the one
//! that changes the fewest lines is kept.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::args::TaskLimits;
use super::batch::BatchRun;
use super::child;
use super::task_dir::{self, FOLDER, Isolation};
use super::tasks::{BatchTask, Results};
use crate::cli::args::ModelArgs;
use crate::cli::commands::work::build::until_second_interrupt;
use crate::cli::report::{self, Failure};
use crate::cli::runs::record::{self, HeldRun, RunKind, RunRecord};
use agent::build::git::{self, BranchSize};
use base::clock;
use base::config::paths::Paths;
use base::protocol::exit_code::ExitCode;
use base::text::plural;
use serde_json::json;

/// After these, the same command continues the attempts.
const STOPPED: [ExitCode; 4] =
    [ExitCode::Interrupted, ExitCode::Provider, ExitCode::CostLimit, ExitCode::Deadline];

pub fn was_stopped(code: u64) -> bool {
    u8::try_from(code).is_ok_and(|code| STOPPED.contains(&ExitCode::known(code)))
}

/// The shortest time that `--max-minutes` takes.
const LEAST_MINUTES: f64 = 0.5;

struct Attempt {
    id: String,
    exit_code: u8,
    branch: Option<String>,
    size: BranchSize,
    cost_usd: f64,
}

impl Attempt {
    fn passes(&self) -> bool {
        self.exit_code == 0
    }

    /// A check proves less if the tests behind it are gone.
    fn rank(&self) -> (bool, u64, usize) {
        let size = &self.size;
        (size.removes_tests, size.added + size.removed, size.files)
    }

    fn summary(&self) -> String {
        let how = if self.passes() { "passes".to_owned() } else { ExitCode::shown(self.exit_code) };
        let BranchSize { added, removed, files, removes_tests } = self.size;
        let tests = if removes_tests { "; it removes lines of tests" } else { "" };
        format!("attempt {}: {how}, +{added} -{removed} lines in {}{tests}", self.id, plural(files, "file"))
    }
}

pub async fn run(
    root: &Path,
    (model, limits): (&ModelArgs, &TaskLimits),
    (task, number): (&str, usize),
    json: bool,
    run_id: &str,
) -> Result<u8, Failure> {
    Isolation::needs_git(root, "-n needs a git repository, for a worktree per attempt")?;
    let state = Paths::from_env().project(root);
    let asked = format!("{task} (until `{}`)", limits.until.as_deref().unwrap_or_default());
    let record = RunRecord::new(run_id, RunKind::Attempts, &asked, root);
    let folder = begun(&state, &record).unwrap_or_else(|| root.join(FOLDER).join(run_id));
    task_dir::make(root, &folder)?;
    let results = folder.join("results.jsonl");
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let batch = BatchRun::new(root.to_owned(), &name, Results::open(&results)?, json)?;
    let record = RunRecord { tree: Some(folder), results: Some(results), ..record };
    let cancel = batch.cancel.clone();
    let all = Attempts { batch, tried: Vec::new(), number };
    let work = async {
        let done = until_second_interrupt(all.work(model, limits, task), &cancel).await;
        done.unwrap_or(Ok(ExitCode::Interrupted as u8))
    };
    HeldRun::during(&state, &record, work).await
}

/// The folder of these attempts' last run, if it was killed or stopped: they continue there.
fn begun(state: &Path, record: &RunRecord) -> Option<PathBuf> {
    let what = |one: &RunRecord| (one.kind, one.task.clone(), one.folder.clone());
    let last = record::of_project(state).into_iter().find(|run| what(&run.record) == what(record))?;
    let stopped = last.end.is_none_or(|end| was_stopped(end.exit_code.into()));
    let folder = last.record.tree.filter(|folder| stopped && !last.running && folder.exists())?;
    eprintln!("Continuing the attempts that began {}.", clock::local(last.record.started_ms));
    Some(folder)
}

struct Attempts {
    batch: BatchRun,
    tried: Vec<Attempt>,
    number: usize,
}

impl Attempts {
    async fn work(mut self, model: &ModelArgs, limits: &TaskLimits, task: &str) -> Result<u8, Failure> {
        let begun = Instant::now();
        let mut stop = None;
        for number in 1..=self.number {
            let spent: f64 = self.tried.iter().map(|attempt| attempt.cost_usd).sum();
            let max_cost = model.max_cost.map(|limit| limit - spent);
            let minutes = begun.elapsed().as_secs_f64() / 60.0;
            let max_minutes = limits.max_minutes.map(|limit| limit - minutes);
            stop = match (max_cost, max_minutes) {
                (Some(left), _) if left <= 0.0 => Some(ExitCode::CostLimit),
                (_, Some(left)) if left < LEAST_MINUTES => Some(ExitCode::Deadline),
                _ => None,
            };
            if stop.is_some() {
                break;
            }
            let model = ModelArgs { max_cost, ..model.clone() };
            self.batch.flags = child::flags(&model, &TaskLimits { max_minutes, ..limits.clone() });
            let id = number.to_string();
            let task =
                BatchTask { id: id.clone(), prompt: task.to_owned(), dir: PathBuf::new(), is_line: false };
            let known = self.batch.results.borrow().code(&id).is_some_and(|code| !was_stopped(code));
            let has_result = known || self.batch.one(&task).await?;
            if self.batch.outages.borrow().over.is_some() {
                stop = Some(ExitCode::Provider);
                break;
            }
            if !has_result {
                eprintln!("Interrupted. To continue, run the same command again.");
                return Ok(ExitCode::Interrupted as u8);
            }
            let attempt = self.attempt(id).await?;
            let limits = [ExitCode::Provider, ExitCode::CostLimit, ExitCode::Deadline];
            stop = limits.into_iter().find(|code| *code as u8 == attempt.exit_code);
            self.tried.push(attempt);
            // The others would fail the same way.
            if stop.is_some() {
                break;
            }
        }
        self.end(stop).await
    }

    async fn attempt(&self, id: String) -> Result<Attempt, Failure> {
        let line = self.batch.results.borrow().line(&id).cloned().unwrap_or_default();
        let branch = line["branch"].as_str().map(str::to_owned);
        let root = &self.batch.root;
        let mut size = BranchSize::default();
        if let Some(branch) = &branch {
            let failed = |stop| Failure::task(stop, "`mycode work` lists the attempts");
            size = git::size_of(root, branch).await.map_err(failed)?;
        }
        let exit_code = line["exit_code"].as_u64().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        let cost_usd = line["cost_usd"].as_f64().unwrap_or(0.0);
        Ok(Attempt { id, exit_code, branch, size, cost_usd })
    }

    /// Keeps the best and removes the others; keeps all if none passes, or only with fewer tests.
    async fn end(self, stop: Option<ExitCode>) -> Result<u8, Failure> {
        let best = self.tried.iter().filter(|attempt| attempt.passes()).min_by_key(|attempt| attempt.rank());
        if let Some(best) = best.filter(|best| !best.size.removes_tests) {
            for other in self.tried.iter().filter(|other| other.id != best.id) {
                // An attempt that changed nothing may have no branch.
                let branch = format!("mycode/each/{}/{}", self.batch.name, other.id);
                let _ = git::discard(&self.batch.root, &self.batch.folder.join(&other.id), &branch).await;
            }
        }
        let last = self.tried.last().map_or(1, |attempt| attempt.exit_code);
        let exit_code = if best.is_some() { 0 } else { stop.map_or(last, |code| code as u8) };
        if self.batch.json {
            let line = json!({
                "type": "attempts_ended",
                "kept": best.map(|best| &best.id),
                "branch": best.and_then(|best| best.branch.as_ref()),
                "attempts": self.tried.iter().map(|attempt| json!({
                    "id": attempt.id, "exit_code": attempt.exit_code, "files": attempt.size.files,
                    "added": attempt.size.added, "removed": attempt.size.removed, "cost_usd": attempt.cost_usd,
                })).collect::<Vec<_>>(),
                "exit_code": exit_code,
            });
            report::print(&format!("{line}\n"))?;
            return Ok(exit_code);
        }
        report::say(&self.text(best, stop)).map(|()| exit_code)
    }

    fn text(&self, best: Option<&Attempt>, stop: Option<ExitCode>) -> String {
        let kept = |best: &Attempt| match best.size.removes_tests {
            true => {
                format!("All are kept: attempt {} passes its check, but removes lines of tests.\n", best.id)
            }
            false => format!("Attempt {} is kept: its check passes with the smallest change.\n", best.id),
        };
        let mut out = best.map_or("No attempt passes its check, so all are kept.\n".to_owned(), kept);
        self.tried.iter().for_each(|attempt| out.push_str(&format!("  {}\n", attempt.summary())));
        let left = self.number - self.tried.len();
        if let Some(why) = stop.filter(|_| left > 0) {
            out.push_str(&format!("  {} not started: {}\n", plural(left, "attempt"), why.text()));
        }
        out + &match best {
            Some(Attempt { id, branch: Some(_), .. }) => {
                let name = format!("{}/{id}", self.batch.name);
                format!("`mycode work diff {name}` shows it, `mycode work merge {name}` merges it.\n")
            }
            Some(_) => "It changed nothing: the check already passes.\n".to_owned(),
            None => "`mycode work` lists their branches.\n".to_owned(),
        }
    }
}
