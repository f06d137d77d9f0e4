//! Background jobs: output goes to one file per job, unread output also to bounded memory. They end with the session.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::decode::readable;
use base::model::envelope::Envelope;
use base::model::observation::{Command, Observation};
use base::model::usage::Usage;
use base::process::run::{self, CommandOutcome, CommandSpec};
use base::process::task;
use base::protocol::event::JobRow;
use base::text::one_line;
use base::{clock, file};

/// Unread output kept in memory; older output is only in the file.
const UNREAD_BYTES: usize = 64 * 1024;
const MAX_RUNNING: usize = 16;
const MAX_ENDED: usize = 32;

const PEEKED_BYTES: u64 = 16 * 1024;

const STOP_TIMEOUT: Duration = Duration::from_millis(1_500);

/// Called when a job starts or ends; must not block.
pub type Watcher = Box<dyn Fn(Vec<JobRow>) + Send + Sync>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutput {
    pub output: Vec<u8>,
    pub skipped_bytes: u64,
    pub ended: Option<JobEnd>,
    pub file: PathBuf,
    pub command: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    pub how: String,
    pub exit_code: Option<i64>,
    pub took: Duration,
}

impl JobOutput {
    pub fn status(&self) -> &str {
        self.ended.as_ref().map_or("running", |end| &end.how)
    }

    pub fn envelope(&self, text: String, call: Command) -> Envelope {
        let looked = Command {
            command: Some(self.command.clone()),
            running: Some(self.ended.is_none()),
            exit_code: self.ended.as_ref().and_then(|end| end.exit_code),
            duration_ms: self.ended.as_ref().map(|end| clock::milliseconds(end.took)),
            full_output_path: Some(self.file.to_string_lossy().into_owned()),
            ..call
        };
        let envelope = Envelope::success(text).observed(Observation::Command(looked));
        envelope.with_body("output", readable(&self.output))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobKind {
    Command,
    Agent,
}

#[derive(Debug, Default)]
struct JobState {
    unread: VecDeque<u8>,
    skipped_bytes: u64,
    file: Option<File>,
    written_bytes: u64,
    ended: Option<JobEnd>,
    reported: bool,
    spent: Option<(Arc<str>, Usage)>,
}

#[derive(Debug)]
pub struct BackgroundJob {
    id: u32,
    command: String,
    path: PathBuf,
    begun: Instant,
    pub cancel: CancellationToken,
    kind: JobKind,
    state: Mutex<JobState>,
    news: Notify,
    over: CancellationToken,
}

impl BackgroundJob {
    pub fn append(&self, chunk: &[u8], cap_bytes: u64) {
        let mut state = self.state.lock();
        let room = cap_bytes.saturating_sub(state.written_bytes).min(chunk.len() as u64) as usize;
        if let Some(file) = &mut state.file
            && file.write_all(&chunk[..room]).is_ok()
        {
            state.written_bytes += room as u64;
        }
        state.unread.extend(chunk);
        let surplus = state.unread.len().saturating_sub(UNREAD_BYTES);
        state.unread.drain(..surplus);
        state.skipped_bytes += surplus as u64;
        drop(state);
        if !chunk.is_empty() {
            self.news.notify_one();
        }
    }

    pub fn report(&self, text: &str, spent: (Arc<str>, Usage)) {
        self.append(text.as_bytes(), text.len() as u64);
        self.state.lock().spent = Some(spent);
    }

    fn read(&self) -> JobOutput {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            state.reported = true;
        }
        JobOutput {
            output: std::mem::take(&mut state.unread).into(),
            skipped_bytes: std::mem::take(&mut state.skipped_bytes),
            ended: state.ended.clone(),
            file: self.path.clone(),
            command: self.command.clone(),
        }
    }

    fn row(&self) -> JobRow {
        JobRow {
            id: self.id,
            command: one_line(&self.command, 200),
            ended: self.state.lock().ended.as_ref().map(|end| end.how.clone()),
        }
    }
}

/// Dropping it ends all jobs.
#[derive(Default)]
pub struct Jobs {
    jobs: Mutex<Vec<Arc<BackgroundJob>>>,
    last_id: AtomicU32,
    watcher: Arc<Mutex<Option<Watcher>>>,
    /// Cancelled when waiting commands should continue as jobs.
    hurry: Mutex<CancellationToken>,
}

impl Jobs {
    pub fn watch(&self, watcher: Watcher) {
        *self.watcher.lock() = Some(watcher);
    }

    fn changed(&self) {
        if let Some(watcher) = &*self.watcher.lock() {
            watcher(self.list());
        }
    }

    pub fn hurry(&self) -> CancellationToken {
        self.hurry.lock().clone()
    }

    /// Lets the commands that calls are waiting for continue as jobs.
    pub fn take_waiting(&self) {
        std::mem::take(&mut *self.hurry.lock()).cancel();
    }

    pub fn has_room(&self) -> bool {
        self.jobs.lock().iter().filter(|job| job.state.lock().ended.is_none()).count() < MAX_RUNNING
    }

    /// Starts a job that writes to the file `path`; returns its number.
    pub fn start(self: &Arc<Self>, command: &str, spec: CommandSpec, path: PathBuf) -> io::Result<u32> {
        let cap_bytes = spec.spill_cap_bytes;
        let job = self.begin(command, path, JobKind::Command)?;
        let running = Arc::clone(&job);
        let outcome =
            async move { run::run(spec, &running.cancel, |chunk| running.append(chunk, cap_bytes)).await };
        Ok(self.follow(job, async { how_it_ended(&outcome.await) }))
    }

    pub fn begin(&self, command: &str, path: PathBuf, kind: JobKind) -> io::Result<Arc<BackgroundJob>> {
        if !self.has_room() {
            return Err(io::Error::other(format!("{MAX_RUNNING} jobs are running already; stop one first")));
        }
        let file = file::create_private(&path)?;
        Ok(self.add(command, path, Instant::now(), CancellationToken::new(), Some(file), kind))
    }

    /// `file` is `None` for a command that continues after its time limit, because it writes to `path` itself.
    pub fn add(
        &self,
        command: &str,
        path: PathBuf,
        begun: Instant,
        cancel: CancellationToken,
        file: Option<File>,
        kind: JobKind,
    ) -> Arc<BackgroundJob> {
        let job = Arc::new(BackgroundJob {
            id: self.last_id.fetch_add(1, Ordering::Relaxed) + 1,
            command: command.to_owned(),
            path,
            begun,
            cancel,
            kind,
            state: Mutex::new(JobState { file, ..JobState::default() }),
            news: Notify::new(),
            over: CancellationToken::new(),
        });
        let mut jobs = self.jobs.lock();
        let reported: Vec<u32> =
            jobs.iter().filter(|job| job.state.lock().reported).map(|job| job.id).collect();
        let surplus = &reported[..reported.len().saturating_sub(MAX_ENDED)];
        jobs.retain(|job| !surplus.contains(&job.id));
        jobs.push(Arc::clone(&job));
        job
    }

    pub fn follow(
        self: &Arc<Self>,
        job: Arc<BackgroundJob>,
        end: impl Future<Output = (String, Option<i64>)> + Send + 'static,
    ) -> u32 {
        let (id, all) = (job.id, Arc::downgrade(self));
        task::spawn(async move {
            let (how, exit_code) = end.await;
            {
                let mut state = job.state.lock();
                state.ended = Some(JobEnd { how, exit_code, took: job.begun.elapsed() });
                state.file = None;
            }
            job.news.notify_one();
            job.over.cancel();
            if let Some(all) = all.upgrade() {
                all.changed();
            }
        });
        self.changed();
        id
    }

    fn find(&self, id: u32) -> Option<Arc<BackgroundJob>> {
        self.jobs.lock().iter().find(|job| job.id == id).cloned()
    }

    pub async fn wait_for_output(&self, id: u32, limit: Duration) {
        if let Some(job) = self.find(id) {
            let _ = tokio::time::timeout(limit, job.news.notified()).await;
        }
    }

    /// Output since the last read; `None` for an unknown number.
    pub fn read(&self, id: u32) -> Option<JobOutput> {
        self.find(id).map(|job| job.read())
    }

    /// The end of a job's output, for the user; doesn't count as read by the model.
    pub fn peek(&self, id: u32) -> Option<String> {
        let job = self.find(id)?;
        let file = file::tail(&job.path, PEEKED_BYTES).ok();
        let unread = || job.state.lock().unread.iter().copied().collect();
        Some(readable(&file.unwrap_or_else(unread)))
    }

    /// Waits until this job, or any unreported job, has ended; at most `limit`.
    pub async fn wait_for_end(&self, id: Option<u32>, limit: Duration) -> Option<u32> {
        let waiting: Vec<Arc<BackgroundJob>> = match id {
            Some(id) => self.find(id).into_iter().collect(),
            None => self.unreported(|_| true),
        };
        Self::first_to_end(waiting, limit).await
    }

    /// Whether an unreported sub-agent has ended; with `waits`, waits for one.
    pub async fn has_report(&self, waits: bool) -> bool {
        let limit = if waits { Duration::MAX } else { Duration::ZERO };
        Self::first_to_end(self.unreported(|job| job.kind == JobKind::Agent), limit).await.is_some()
    }

    pub fn take_spent(&self) -> Vec<(Arc<str>, Usage)> {
        self.jobs.lock().iter().filter_map(|job| job.state.lock().spent.take()).collect()
    }

    fn unreported(&self, wanted: impl Fn(&BackgroundJob) -> bool) -> Vec<Arc<BackgroundJob>> {
        let jobs = self.jobs.lock();
        jobs.iter().filter(|job| wanted(job) && !job.state.lock().reported).cloned().collect()
    }

    async fn first_to_end(waiting: Vec<Arc<BackgroundJob>>, limit: Duration) -> Option<u32> {
        if waiting.is_empty() {
            return None;
        }
        let ends = waiting.iter().map(|job| {
            Box::pin(async {
                job.over.cancelled().await;
                job.id
            })
        });
        let any = futures_util::future::select_all(ends);
        tokio::time::timeout(limit, any).await.ok().map(|(id, _, _)| id)
    }

    pub fn stop(&self, id: u32) -> bool {
        self.find(id).inspect(|job| job.cancel.cancel()).is_some()
    }

    pub async fn ended(&self, id: u32, limit: Duration) {
        if let Some(job) = self.find(id) {
            let _ = tokio::time::timeout(limit, job.over.cancelled()).await;
        }
    }

    pub async fn stop_all(&self) {
        let jobs: Vec<Arc<BackgroundJob>> = self.jobs.lock().clone();
        for job in &jobs {
            job.cancel.cancel();
        }
        let all = futures_util::future::join_all(jobs.iter().map(|job| job.over.cancelled()));
        let _ = tokio::time::timeout(STOP_TIMEOUT, all).await;
    }

    pub fn list(&self) -> Vec<JobRow> {
        self.jobs.lock().iter().map(|job| job.row()).collect()
    }

    pub fn take_ended(&self) -> Vec<String> {
        let jobs = self.jobs.lock();
        let news = jobs.iter().filter_map(|job| {
            let mut state = job.state.lock();
            let ended = state.ended.clone().filter(|_| !state.reported)?;
            state.reported = true;
            let (command, how, took) = (one_line(&job.command, 80), ended.how, ended.took.as_secs());
            let mut told = format!("Job {} (`{command}`) ended: {how} after {took} s", job.id);
            if job.kind == JobKind::Agent && !state.unread.is_empty() {
                let report: Vec<u8> = state.unread.drain(..).collect();
                told.push_str(&format!(". It reports:\n{}", readable(&report).trim()));
            }
            Some(told)
        });
        news.collect()
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        for job in self.jobs.lock().iter() {
            job.cancel.cancel();
        }
    }
}

pub fn how_it_ended(outcome: &io::Result<CommandOutcome>) -> (String, Option<i64>) {
    match outcome {
        Err(error) => (format!("could not be started: {error}"), None),
        Ok(outcome) if outcome.cancelled => (format!("stopped ({})", outcome.exit), None),
        Ok(outcome) => (outcome.exit.to_string(), Some(outcome.exit.code().into())),
    }
}
