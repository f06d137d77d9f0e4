//! Job: looks at background jobs, or ends one. Starting them is Bash's.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::decode::readable;
use crate::config::prompts;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::policy::access::Access;
use crate::tool::api::{ToolError, TypedTool};
use crate::tool::cx::ToolCx;

/// How long an end that was asked for is waited for.
const STOP_PATIENCE: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
pub struct Args {
    #[serde(default)]
    id: Option<u32>,
    #[serde(default)]
    stop: bool,
}

pub struct Job;

impl TypedTool for Job {
    type Args = Args;
    const NAME: &'static str = "Job";

    fn description(&self) -> &'static str {
        prompts::TOOL_JOB
    }

    fn schema(&self) -> Value {
        json!({
            "type": "object",
            "properties": {"id": {"type": "integer"}, "stop": {"type": "boolean"}}
        })
    }

    fn access(&self, _: &Args, _: &ToolCx) -> Result<Vec<Access>, ToolError> {
        // The jobs were allowed when they began; ending one is always allowed.
        Ok(Vec::new())
    }

    fn title(&self, args: &Args) -> String {
        match (args.id, args.stop) {
            (Some(id), true) => format!("Job stop {id}"),
            (Some(id), false) => format!("Job {id}"),
            (None, _) => "Job".to_owned(),
        }
    }

    async fn run(&self, args: Args, cx: &ToolCx) -> Result<Envelope, ToolError> {
        let jobs = &cx.shell.jobs;
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
            ToolError::model(ErrorCode::NotFound, format!("there is no job {id}; Job without id lists them"))
        };
        if args.stop {
            if !jobs.stop(id) {
                return Err(unknown());
            }
            jobs.ended(id, STOP_PATIENCE).await;
        }
        let reading = jobs.read(id).ok_or_else(unknown)?;
        let mut notes = vec![reading.ended.clone().unwrap_or_else(|| "running".to_owned())];
        if reading.output.is_empty() {
            notes.push("nothing new".to_owned());
        }
        if reading.skipped_bytes > 0 {
            notes.push(format!("{} earlier bytes only in the file", reading.skipped_bytes));
        }
        let mut envelope =
            Envelope::success(notes.join("; ")).with("id", id).with("running", reading.ended.is_none());
        if let Some(file) = &reading.file {
            envelope = envelope.with("full_output_path", file.to_string_lossy());
        }
        Ok(envelope.with_body("output", readable(&reading.output)))
    }
}
