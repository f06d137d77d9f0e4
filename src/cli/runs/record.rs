//! One file per run in the project's state. It is locked while the run lasts, so that a killed run never counts as running,
//! on any system.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cli::report::Failure;
use base::config::paths::Paths;
use base::process::{machine, signals};
use base::protocol::exit_code::ExitCode;
use base::text::one_line;
use base::{clock, file};
use guard::redact::detector;

const TASK_CHARS: usize = 400;
const MAX_BYTES: u64 = 64 * 1024;
const KEPT: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    Exec,
    Goal,
    Attempts,
    Batch,
    Build,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunRecord {
    pub id: String,
    pub kind: RunKind,
    pub task: String,
    pub folder: PathBuf,
    /// `None` for a batch: each task has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where its session or sessions worked, if elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<PathBuf>,
    pub started_ms: u64,
    pub pid: i32,
    pub place: String,
}

impl RunRecord {
    pub fn new(id: &str, kind: RunKind, task: &str, folder: &Path) -> Self {
        Self {
            id: id.to_owned(),
            kind,
            task: one_line(&detector::redact(task), TASK_CHARS),
            folder: folder.to_owned(),
            session: None,
            tree: None,
            results: None,
            started_ms: clock::now_ms(),
            pid: std::process::id().cast_signed(),
            place: machine::boot(),
        }
    }

    /// The process to signal; `None` if it runs on another machine or in another container.
    pub fn process(&self) -> Option<i32> {
        Some(self.pid).filter(|_| self.place == machine::boot())
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RunEnd {
    pub ended_ms: u64,
    pub exit_code: u8,
}

#[derive(Clone, Debug, Serialize)]
pub struct Run {
    #[serde(flatten)]
    pub record: RunRecord,
    pub running: bool,
    #[serde(flatten)]
    pub end: Option<RunEnd>,
    #[serde(skip)]
    pub path: PathBuf,
}

impl Run {
    pub fn log(&self) -> PathBuf {
        self.path.with_extension("log")
    }

    pub fn project_state(&self) -> &Path {
        self.path.parent().and_then(Path::parent).unwrap_or(&self.path)
    }
}

/// The run of this process. If no end is recorded, it counts as killed.
pub struct HeldRun(File);

impl HeldRun {
    /// Returns `None` if it can't be recorded: `ps` doesn't show it then, and the session reports the disk's problem.
    fn begin(project_state: &Path, record: &RunRecord) -> Option<Self> {
        forget(project_state);
        create(&path_of(project_state, &record.id), record).ok()
    }

    pub async fn during(
        project_state: &Path,
        record: &RunRecord,
        work: impl Future<Output = Result<u8, Failure>>,
    ) -> Result<u8, Failure> {
        let held = Self::begin(project_state, record);
        let result = work.await;
        if let Some(mut held) = held {
            let exit_code =
                result.as_ref().map_or_else(|failure| failure.kind as u8, |code| code_by_signal(*code));
            let _ = append(&mut held.0, &RunEnd { ended_ms: clock::now_ms(), exit_code });
        }
        result
    }
}

/// For an interrupted run, the code that shells use for the signal; other codes stay.
pub fn code_by_signal(code: u8) -> u8 {
    signals::exit_code().filter(|_| code == ExitCode::Interrupted as u8).unwrap_or(code)
}

fn create(path: &Path, record: &RunRecord) -> io::Result<HeldRun> {
    if let Some(folder) = path.parent() {
        file::create_private_folder(folder)?;
    }
    let mut file = file::open_private(OpenOptions::new().append(true).create_new(true), path)?;
    file.lock()?;
    append(&mut file, record)?;
    Ok(HeldRun(file))
}

pub fn new_log(record: &Path) -> io::Result<File> {
    if let Some(folder) = record.parent() {
        file::create_private_folder(folder)?;
    }
    file::open_private(OpenOptions::new().append(true).create_new(true), &record.with_extension("log"))
}

fn append(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    file.write_all(&line)
}

pub fn path_of(project_state: &Path, id: &str) -> PathBuf {
    project_state.join("runs").join(format!("{id}.run"))
}

fn files_of(project_state: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(project_state.join("runs")).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "run")).collect()
}

pub fn of_project(project_state: &Path) -> Vec<Run> {
    let mut runs: Vec<Run> = files_of(project_state).into_iter().filter_map(read).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.record.started_ms));
    runs
}

pub fn everywhere() -> Vec<Run> {
    let states = fs::read_dir(Paths::from_env().projects()).into_iter().flatten().flatten();
    let mut runs: Vec<Run> = states.flat_map(|state| of_project(&state.path())).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.record.started_ms));
    runs
}

/// The last started run that has a log.
pub fn newest() -> Result<Run, Failure> {
    let hint = "`mycode exec --bg \"task\"` starts one";
    everywhere()
        .into_iter()
        .find(|run| run.log().exists())
        .ok_or_else(|| Failure::usage("no run has a log", hint))
}

/// `wanted` is the id of a run or a session, or the start of one.
pub fn find(wanted: &str) -> Result<Run, Failure> {
    let hint = "`mycode ps --all` lists the runs";
    let names = |run: &Run| [Some(run.record.id.clone()), run.record.session.clone()];
    let mut runs = everywhere();
    runs.retain(|run| names(run).iter().flatten().any(|name| name.starts_with(wanted)) && !wanted.is_empty());
    // Several runs of one session: the newest is meant.
    if let Some(at) = runs.iter().position(|run| names(run).iter().flatten().any(|name| name == wanted)) {
        return Ok(runs.swap_remove(at));
    }
    match runs.len() {
        1 => Ok(runs.swap_remove(0)),
        0 => Err(Failure::usage(format!("no run '{wanted}'"), hint)),
        several => Err(Failure::usage(format!("'{wanted}' matches {several} runs"), hint)),
    }
}

pub fn read(path: PathBuf) -> Option<Run> {
    let (file, meta) = file::open(&path).ok()?;
    let locked = matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    let bytes = file::read_all(file, &meta, MAX_BYTES).ok()?;
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let record = serde_json::from_slice(lines.next()?).ok()?;
    let end: Option<RunEnd> = lines.find_map(|line| serde_json::from_slice(line).ok());
    Some(Run { record, running: locked && end.is_none(), end, path })
}

/// Reads only surplus files, because every run starts with this.
fn forget(project_state: &Path) {
    let mut paths = files_of(project_state);
    // Ids begin with the date.
    paths.sort();
    let surplus = paths.len().saturating_sub(KEPT);
    for run in paths.into_iter().take(surplus).filter_map(read).filter(|run| !run.running) {
        let _ = fs::remove_file(run.log());
        let _ = fs::remove_file(&run.path);
    }
}
