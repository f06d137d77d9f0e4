//! A batch at work: each task in its own process and folder. Finished tasks are in the results file, unfinished ones in
//! their session, which the next run continues.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::child::{self, TaskOutput};
use super::sessions::{facts, has_message};
use super::task_dir::{self, FOLDER, Isolation, TaskDir};
use super::tasks::{self, BatchTask, Results};
use crate::cli::report::{self, Failure, OrFail};
use agent::build::git;
use base::config::files::load;
use base::config::paths::Paths;
use base::process::signals::interrupts;
use base::protocol::exit_code::ExitCode;
use base::{clock, sanitize, text};
use guard::redact::detector;

/// For an interrupted task: its own prompt is in the session already.
const CONTINUE: &str = "The run was interrupted before the task was done. Continue where it left off.";

/// The tasks that wait for the model's server, and the outage that outlasted the wait.
#[derive(Default)]
pub struct Outages {
    waiting: HashSet<String>,
    pub over: Option<String>,
}

pub struct BatchRun {
    pub root: PathBuf,
    pub folder: PathBuf,
    pub name: String,
    pub flags: Vec<OsString>,
    pub copy: bool,
    pub json: bool,
    /// In US dollars, for all tasks together.
    pub max_cost: Option<f64>,
    costs: RefCell<HashMap<String, f64>>,
    over_limit: Cell<bool>,
    pub results: RefCell<Results>,
    pub cancel: CancellationToken,
    pub outages: RefCell<Outages>,
    /// Only one worktree may be made at a time.
    pub git: tokio::sync::Mutex<()>,
}

impl BatchRun {
    pub fn new(root: PathBuf, name: &str, results: Results, json: bool) -> Result<Self, Failure> {
        load::own_models(&Paths::from_env().config)?;
        Ok(Self {
            folder: root.join(FOLDER).join(name),
            root,
            name: name.to_owned(),
            flags: Vec::new(),
            copy: false,
            json,
            max_cost: None,
            costs: RefCell::default(),
            over_limit: Cell::new(false),
            results: RefCell::new(results),
            cancel: CancellationToken::new(),
            outages: RefCell::default(),
            git: tokio::sync::Mutex::new(()),
        })
    }

    pub async fn work_through(
        &self,
        all: &[BatchTask],
        tasks: &[BatchTask],
        jobs: usize,
        path: &Path,
    ) -> Result<u8, Failure> {
        self.count_costs(all);
        let (mut open, mut stop) = (0, None);
        {
            let mut work =
                pin!(futures_util::stream::iter(tasks).map(|task| self.one(task)).buffer_unordered(jobs));
            let mut interrupts = pin!(interrupts().fuse());
            loop {
                let ended = tokio::select! {
                    ended = work.next() => ended,
                    Some(()) = interrupts.next() => {
                        if self.cancel.is_cancelled() {
                            // Dropping the running tasks kills them; their sessions stay.
                            break;
                        }
                        self.cancel.cancel();
                        continue;
                    }
                };
                match ended {
                    None => break,
                    Some(Ok(has_result)) => open += usize::from(!has_result),
                    Some(Err(failure)) => {
                        // The others would fail the same way.
                        self.cancel.cancel();
                        stop.get_or_insert(failure);
                    }
                }
            }
        }
        if let Some(failure) = stop {
            return Err(failure);
        }
        let results = self.results.borrow();
        let codes: Vec<Option<u64>> = all.iter().map(|task| results.code(&task.id)).collect();
        let have = codes.iter().flatten().count();
        let failed = codes.iter().flatten().filter(|code| **code != 0).count();
        let shown = path.display();
        if let Some(reason) = &self.outages.borrow().over {
            eprintln!(
                "Stopped because the model's server was unreachable for too long: {}\n{have} of {} have a result in {shown}. \
                 To continue, run the same command again; --wait 8h waits longer.",
                text::one_line(&sanitize::clean(reason), 300),
                text::plural(all.len(), "task")
            );
            return Ok(ExitCode::Provider as u8);
        }
        if let Some(limit) = self.max_cost.filter(|_| self.over_limit.get() && have < all.len()) {
            eprintln!(
                "Stopped at the cost limit of the batch: {} of {} are spent, and {have} of {} have a result in {shown}. \
                To continue, run the same command with a higher --max-cost.",
                text::dollars(self.costs.borrow().values().sum()),
                text::dollars(limit),
                text::plural(all.len(), "task")
            );
            return Ok(ExitCode::CostLimit as u8);
        }
        if open > 0 || self.cancel.is_cancelled() {
            let all = text::plural(all.len(), "task");
            eprintln!(
                "Interrupted: {have} of {all} have a result in {shown}. To continue, run the same command again."
            );
            return Ok(ExitCode::Interrupted as u8);
        }
        eprintln!("{} done, {failed} failed; results in {shown}", text::plural(have - failed, "task"));
        if failed > 0 {
            eprintln!("To continue the failed ones, run the same command with --again.");
        }
        let codes = codes.into_iter().flatten().map(|code| u8::try_from(code).unwrap_or(1));
        Ok(ExitCode::worst(codes))
    }

    /// Also counts what tasks cost in earlier runs of this batch.
    fn count_costs(&self, all: &[BatchTask]) {
        let results = self.results.borrow();
        let cost = |task: &BatchTask| {
            let recorded = results.line(&task.id).and_then(|line| line["cost_usd"].as_f64());
            TaskOutput::read(&self.events_of(task), 0).cost_usd().max(recorded.unwrap_or(0.0))
        };
        *self.costs.borrow_mut() = all.iter().map(|task| (task.id.clone(), cost(task))).collect();
    }

    fn left_usd(&self) -> Option<f64> {
        Some(self.max_cost? - self.costs.borrow().values().sum::<f64>())
    }

    /// Records the task's cost so far; ends the batch when the limit is reached.
    fn pay(&self, task: &BatchTask, cost_usd: f64) {
        self.costs.borrow_mut().insert(task.id.clone(), cost_usd);
        if self.left_usd().is_some_and(|left| left <= 0.0) {
            self.stop_at_limit();
        }
    }

    fn stop_at_limit(&self) {
        self.over_limit.set(true);
        self.cancel.cancel();
    }

    fn events_of(&self, task: &BatchTask) -> PathBuf {
        self.folder.join(format!("{}.events.jsonl", task.id))
    }

    /// Finds what would go wrong later, before anything runs.
    pub async fn check(&self, tasks: &[BatchTask], jobs: usize) -> Result<(), Failure> {
        let mut repositories = Vec::new();
        let mut in_place = Vec::new();
        for task in tasks {
            let dir = self.dir(task).ok_or_else(|| {
                let (dir, root) = (task.dir.display(), self.root.display());
                let message = format!("task {}: {dir} isn't a folder in {root}", task.id);
                Failure::usage(message, "correct its dir; nothing was run")
            })?;
            let kind = Isolation::of(&dir, self.copy);
            if kind == Isolation::InPlace && jobs > 1 && in_place.contains(&dir) {
                let message = format!("several tasks would work in {} at the same time", dir.display());
                return Err(Failure::usage(message, "add --copy, use --jobs 1, or make it a git repository"));
            }
            if kind == Isolation::Worktree
                && !self.folder.join(&task.id).exists()
                && !repositories.contains(&dir)
            {
                let hint = "worktrees need a commit: make one, or use --copy";
                git::head(&dir).await.or_task(format!("{} has no commit yet", dir.display()), hint)?;
                repositories.push(dir.clone());
            }
            in_place.push(dir);
        }
        task_dir::make(&self.root, &self.folder)
    }

    fn dir(&self, task: &BatchTask) -> Option<PathBuf> {
        let dir = self.root.join(&task.dir).canonicalize().ok()?;
        (dir.is_dir() && dir.starts_with(&self.root)).then_some(dir)
    }

    /// Returns `false` if the task wasn't started or was interrupted.
    pub async fn one(&self, task: &BatchTask) -> Result<bool, Failure> {
        if self.left_usd().is_some_and(|left| left <= 0.0) {
            self.stop_at_limit();
        }
        if self.cancel.is_cancelled() {
            return Ok(false);
        }
        let dir = self.dir(task).unwrap_or_else(|| self.root.clone());
        let kind = Isolation::of(&dir, self.copy);
        let branch = format!("mycode/each/{}/{}", self.name, task.id);
        let place = {
            let _one_at_a_time = self.git.lock().await;
            TaskDir::open(kind, &dir, &self.folder.join(&task.id), branch).await
        };
        let place = match place {
            Ok(place) => place,
            Err(error) => return self.record(task, 1, json!({"error": error})),
        };
        let path = self.events_of(task);
        let earlier = TaskOutput::read(&path, 0);
        let recorded = self.results.borrow().code(&task.id).is_some();
        // The task ended before the batch was killed: only its line is missing.
        let ended = earlier.exit_code.filter(|code| *code != INTERRUPTED && earlier.outage.is_none());
        let (output, code) = match ended.filter(|_| !recorded) {
            Some(code) => (earlier, code),
            None => {
                let start = fs::metadata(&path).map_or(0, |meta| meta.len() as usize);
                let resume = earlier.session.filter(|id| has_message(&place.folder, id));
                if let (Some(tree), None) = (&place.tree, &resume)
                    && let Err(stop) = tree.reset().await
                {
                    return self.record(task, 1, json!({"error": stop.to_string()}));
                }
                let status = self.work(task, &place, resume.as_deref(), &path).await?;
                let output = TaskOutput::read(&path, start);
                match exit_code(status) {
                    // It used up the batch's limit, and continues there when the limit is raised.
                    COST_LIMIT if self.max_cost.is_some() => {
                        self.stop_at_limit();
                        return Ok(false);
                    }
                    INTERRUPTED => return Ok(false),
                    _ if self.cancel.is_cancelled() && output.exit_code.is_none() => return Ok(false),
                    // The others would fail the same way, so don't try them.
                    _ if output.outage.is_some() => {
                        self.outages.borrow_mut().over = output.outage;
                        self.cancel.cancel();
                        return Ok(false);
                    }
                    code @ (2 | 3) => return Err(cannot_begin(task, code, output)),
                    code => (output, code),
                }
            }
        };
        let mut facts = facts(&output, &place);
        let subject = format!("mycode {}: {}", task.id, text::one_line(&detector::redact(&task.prompt), 60));
        let changed = match place.commit(&dir, &subject, code == 0).await {
            Ok(changed) => changed,
            Err(error) => {
                facts["error"] = json!(error);
                return self.record(task, code.max(1), facts);
            }
        };
        let branch = place.tree.as_ref().map(|tree| &tree.branch);
        facts["branch"] = json!(branch.filter(|_| changed));
        let ended = self.record(task, code, facts);
        if code == 0 {
            let _one_at_a_time = self.git.lock().await;
            place.close(&dir, changed).await;
        }
        ended
    }

    async fn work(
        &self,
        task: &BatchTask,
        place: &TaskDir,
        resume: Option<&str>,
        output: &Path,
    ) -> Result<ExitStatus, Failure> {
        let prompt = if resume.is_some() { CONTINUE } else { &task.prompt };
        let limit = self.left_usd().map(|left| ["--max-cost".into(), left.to_string().into()]);
        let flags = self.flags.iter().cloned().chain(limit.into_iter().flatten()).collect();
        let mut now = TaskOutput::read(output, 0);
        now.outage = None;
        let mut child = child::start(flags, &place.folder, resume, prompt, output).await?;
        let mut read = fs::metadata(output).map_or(0, |meta| meta.len() as usize);
        loop {
            tokio::select! {
                status = child.wait() => {
                    now.read_on(output, read);
                    self.pay(task, now.cost_usd());
                    if now.outage.is_none() {
                        self.tell(&task.id, None);
                    }
                    return Ok(status?);
                }
                () = self.cancel.cancelled() => break,
                () = tokio::time::sleep(LOOK) => {
                    read = now.read_on(output, read);
                    self.pay(task, now.cost_usd());
                    self.tell(&task.id, now.outage.as_deref());
                }
            }
        }
        child::interrupt(&child);
        Ok(child.wait().await?)
    }

    /// Says once that the batch waits for the server, and when it continues.
    fn tell(&self, id: &str, outage: Option<&str>) {
        let waiting = &mut self.outages.borrow_mut().waiting;
        let waited = !waiting.is_empty();
        if let Some(reason) = outage {
            if waiting.insert(id.to_owned()) && !waited {
                eprintln!("Paused: {}", text::one_line(&sanitize::clean(reason), 300));
            }
        } else {
            waiting.remove(id);
            if waited && waiting.is_empty() {
                eprintln!("The pause is over ({}).", clock::local(clock::now_ms()));
            }
        }
    }

    fn record(&self, task: &BatchTask, code: u8, facts: Value) -> Result<bool, Failure> {
        let mut line = json!({"id": task.id, "exit_code": code, "prompt_hash": task.hash()});
        if let (Some(line), Value::Object(facts)) = (line.as_object_mut(), facts) {
            line.extend(facts);
            line.retain(|_, value| !value.is_null());
        }
        self.results.borrow_mut().add(&task.id, line.clone()).or_task(
            format!("the result of task {} can't be written", task.id),
            "free some disk space and run the same command again",
        )?;
        if self.json {
            report::print(&format!("{line}\n"))?;
        } else {
            let how = ExitCode::shown(code);
            let said = line["error"].as_str().or(line["answer"].as_str()).unwrap_or_default();
            let facts = tasks::facts(&line).map_or(String::new(), |facts| format!("  [{facts}]"));
            report::say(&format!("{}  {how}{facts}  {}\n", task.id, text::one_line(said, 100)))?;
        }
        Ok(true)
    }
}

const LOOK: Duration = Duration::from_millis(250);

const SIGTERM_CODE: i32 = 143;
const INTERRUPTED: u8 = ExitCode::Interrupted as u8;
const COST_LIMIT: u8 = ExitCode::CostLimit as u8;

/// Like a shell: 128 plus the signal for a killed process.
fn exit_code(status: ExitStatus) -> u8 {
    match base::process::run::exit_of(status).code() {
        // Killed by us.
        SIGTERM_CODE => INTERRUPTED,
        code => u8::try_from(code).unwrap_or(1),
    }
}

/// An error that affects all tasks: no model, a bad flag, a sandbox that can't be made.
fn cannot_begin(task: &BatchTask, code: u8, output: TaskOutput) -> Failure {
    let kind = if code == 2 { ExitCode::Usage } else { ExitCode::Config };
    let error = output.error.unwrap_or_else(|| format!("exit code {code}"));
    let hint = output.hint.unwrap_or_else(|| "correct that, then run the same command again".to_owned());
    Failure::new(kind, format!("task {} can't start: {error}", task.id), hint)
}
