//! `Bash keep`: starts a service that outlives the run. It is never confined, so it needs the same approval as any unconfined command.

use std::io;
use std::path::Path;

use serde_json::json;

use super::decode::readable;
use super::services::Started;
use crate::api::{ToolError, ToolOutcome};
use crate::cx::ToolCx;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::observation::{Command, Observation};
use base::protocol::event::ServiceRow;
use guard::redact::detector::TextSource;

pub async fn start(command: &str, cx: &ToolCx, cwd: &Path) -> ToolOutcome {
    let Some(services) = cx.services.as_ref().filter(|_| cx.may_keep) else {
        return Err(ToolError::model(
            ErrorCode::PermissionDenied,
            "Not run: a kept service runs outside the sandbox; --permission full or --allow 'Bash(…)' allows it",
        ));
    };
    let failed = |error: io::Error| ToolError::failed(format!("the service could not be started: {error}"));
    let started = services.start(command, cwd).await.map_err(failed)?;
    let runs = |number: usize, row: &ServiceRow| {
        format!(
            "service {number} is running (pid {}) and will keep running after this run. Log: {}; to stop it: {}",
            row.pid, row.log, row.stop
        )
    };
    let (note, output, row) = match started {
        Started::Runs(number, row) => (runs(number, &row), Vec::new(), Some(row)),
        Started::Ended { how, output, left: Some((number, row)) } => {
            (format!("{how}; {}", runs(number, &row)), output, Some(row))
        }
        Started::Ended { how, output, left: None } => (format!("{how}; it isn't running"), output, None),
    };
    let text = cx.redactor.redact(&readable(&output), TextSource::of_command(command)).into_owned();
    let ran = Command { command: Some(command.to_owned()), ..Command::default() };
    let mut envelope = Envelope::success(note).observed(Observation::Command(ran)).with_body("output", text);
    envelope.data.more.extend(row.map(|row| ("service".to_owned(), json!(row))));
    Ok(envelope)
}
