//! Job: checks on or stops background jobs. Bash starts them, with approval; stopping one needs none.

use std::time::Duration;

use serde::Deserialize;

use super::jobs::Jobs;
use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use base::config::prompts;
use base::model::envelope::Envelope;
use base::model::observation::Command;

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
    const ARGUMENTS: &'static str = "id? integer, stop? boolean";
    const WORK: ToolWork<Args> =
        ToolWork::Async(|args, cx| Box::pin(async move { look(&args, &cx.shell.jobs).await }));

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
    let unknown = || ToolError::not_found(format!("there is no job {id}; Job without id lists them"));
    if args.stop && jobs.stop(id) {
        jobs.ended(id, STOP_TIMEOUT).await;
    }
    let read = jobs.read(id).ok_or_else(unknown)?;
    let mut notes = vec![read.status().to_owned()];
    if read.output.is_empty() {
        notes.push("no new output".to_owned());
    }
    if read.skipped_bytes > 0 {
        notes.push(format!("{} earlier bytes are only in the file", read.skipped_bytes));
    }
    Ok(read.envelope(notes.join("; "), Command { id: Some(id), ..Command::default() }))
}
