//! Job: checks or stops background jobs. Bash starts them with approval; stopping needs none.

use std::time::Duration;

use serde::Deserialize;

use super::decode::readable;
use crate::api::{ToolError, ToolOutcome, ToolWork, TypedTool};
use crate::cx::ToolCx;
use base::model::envelope::Envelope;
use base::model::observation::Command;

const MAX_WAIT_S: u64 = 600;
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
pub struct Args {
    id: Option<u32>,
    /// Waits until the job has ended, at most this many seconds.
    wait_s: Option<u64>,
    #[serde(default)]
    stop: bool,
}

pub struct Job;

impl TypedTool for Job {
    type Args = Args;
    const NAME: &'static str = "Job";
    const ARGUMENTS: &'static str = "id? integer, wait_s? integer, stop? boolean";
    const WORK: ToolWork<Args> = ToolWork::Async(|args, cx| Box::pin(async move { look(&args, cx).await }));

    fn title(args: &Args) -> String {
        match (args.id, args.stop) {
            (Some(id), true) => format!("Job stop {id}"),
            (Some(id), false) => format!("Job {id}"),
            (None, _) => "Job".to_owned(),
        }
    }
}

async fn look(args: &Args, cx: &ToolCx) -> ToolOutcome {
    let jobs = &cx.shell.jobs;
    let mut ended = None;
    if let Some(seconds) = args.wait_s.filter(|_| !args.stop) {
        let asked = Duration::from_secs(seconds.clamp(1, MAX_WAIT_S));
        let wait = cx.deadline.map_or(asked, |deadline| asked.min(deadline.longest_wait()));
        ended = tokio::select! {
            ended = jobs.wait_for_end(args.id, wait) => ended,
            () = cx.cancel.cancelled() => return Err(ToolError::interrupted()),
        };
    }
    let Some(id) = args.id.or(ended) else {
        let lines = jobs.list().into_iter().map(|job| {
            let state = job.ended.unwrap_or_else(|| "running".to_owned());
            format!("{} {state}: {}\n", job.id, job.command)
        });
        let services = cx.services.iter().flat_map(|services| services.numbered()).map(|(number, row)| {
            format!("service {number} running: {}; log: {}; to stop it: {}\n", row.command, row.log, row.stop)
        });
        let list: String = lines.chain(services).collect();
        let note = if list.is_empty() { "no background jobs" } else { "" };
        return Ok(Envelope::success(note).with_body("jobs", list));
    };
    let unknown = || ToolError::not_found(format!("there is no job {id}; Job without id lists them"));
    if args.stop && jobs.stop(id) {
        jobs.ended(id, STOP_TIMEOUT).await;
    }
    let Some(read) = jobs.read(id) else {
        // The number may be that of a service.
        let services = cx.services.as_ref().ok_or_else(unknown)?;
        let (state, output) = services.look(id as usize, args.stop).await.ok_or_else(unknown)?;
        return Ok(Envelope::success(state).with_body("output", readable(&output)));
    };
    let took = read.ended.as_ref().map(|end| format!(" after {} s", end.took.as_secs()));
    let mut notes = vec![format!("{}{}", read.status(), took.unwrap_or_default())];
    if read.output.is_empty() {
        notes.push("no new output".to_owned());
    }
    if read.skipped_bytes > 0 {
        notes.push(format!("{} earlier bytes are only in the file", read.skipped_bytes));
    }
    Ok(read.envelope(notes.join("; "), Command { id: Some(id), ..Command::default() }))
}
