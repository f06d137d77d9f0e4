//! Job: looks at background jobs, or stops one. Bash starts them; they were allowed then, and stopping one always is.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::decode::readable;
use super::jobs::Jobs;
use crate::config::prompts;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::tool::api::{ToolError, ToolOutcome, TypedTool, Work, object};

/// How long to wait for a job to end after it was stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
pub struct Args {
    id: Option<u32>,
    #[serde(default)]
    stop: bool,
}

pub struct Job;

impl TypedTool for Job {
    type Args = Args;
    const NAME: &'static str = "Job";
    const DESCRIPTION: &'static str = prompts::TOOL_JOB;
    const WORK: Work<Args> =
        Work::Async(|args, cx| Box::pin(async move { look(&args, &cx.shell.jobs).await }));

    fn schema() -> Value {
        object(&[], json!({"id": {"type": "integer"}, "stop": {"type": "boolean"}}))
    }

    fn title(args: &Args) -> String {
        match (args.id, args.stop) {
            (Some(id), true) => format!("Job stop {id}"),
            (Some(id), false) => format!("Job {id}"),
            (None, _) => "Job".to_owned(),
        }
    }
}

async fn look(args: &Args, jobs: &Jobs) -> ToolOutcome {
    let Some(id) = args.id else {
        let lines = jobs.list().into_iter().map(|job| {
            let state = job.ended.unwrap_or_else(|| "running".to_owned());
            format!("{} {state}: {}\n", job.id, job.command)
        });
        let list: String = lines.collect();
        let note = if list.is_empty() { "no background jobs" } else { "" };
        return Ok(Envelope::success(note).with_body("jobs", list));
    };
    let unknown = || {
        ToolError::model(
            ErrorCode::NotFound,
            format!("there is no job {id}; call Job without id to list them"),
        )
    };
    if args.stop {
        if !jobs.stop(id) {
            return Err(unknown());
        }
        jobs.ended(id, STOP_TIMEOUT).await;
    }
    let reading = jobs.read(id).ok_or_else(unknown)?;
    let mut notes = vec![reading.ended.clone().unwrap_or_else(|| "running".to_owned())];
    if reading.output.is_empty() {
        notes.push("no new output".to_owned());
    }
    if reading.skipped_bytes > 0 {
        notes.push(format!("{} earlier bytes are only in the file", reading.skipped_bytes));
    }
    let mut envelope =
        Envelope::success(notes.join("; ")).with("id", id).with("running", reading.ended.is_none());
    if let Some(file) = &reading.file {
        envelope = envelope.with("full_output_path", file.to_string_lossy());
    }
    Ok(envelope.with_body("output", readable(&reading.output)))
}
