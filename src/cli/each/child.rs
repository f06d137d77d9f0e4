//! One task as a child process: how it starts, how it ends with its batch, and what its output says.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::{fs, io};

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use crate::cli::args::ModelArgs;
use crate::cli::each::args::TaskLimits;
use crate::cli::report::Failure;
use base::file;
use base::process::programs;
use base::protocol::event::WAITING;
use base::protocol::exit_code::ExitCode;
use base::system::os::{self, Signal};

pub fn flags(model: &ModelArgs, limits: &TaskLimits) -> Vec<OsString> {
    let mut flags: Vec<OsString> = Vec::new();
    let mut option = |name: &str, value: Option<OsString>| {
        if let Some(value) = value {
            flags.extend([name.into(), value]);
        }
    };
    option("--provider", model.provider.map(|kind| kind.into_str().into()));
    option("--model", model.model.as_ref().map(Into::into));
    option("--effort", model.effort.as_ref().map(Into::into));
    option("--api-key-env", model.api_key_env.as_ref().map(Into::into));
    option("--base-url", model.base_url.as_ref().map(Into::into));
    option("--script", model.script.as_ref().map(Into::into));
    option("--context-window", model.context_window.map(|tokens| tokens.to_string().into()));
    option("--wait", model.wait.map(|seconds| format!("{seconds}s").into()));
    option("--permission", model.permission.map(|level| level.into_str().into()));
    option("--mode", model.mode.map(|mode| mode.into_str().into()));
    option("--max-steps", model.max_steps.map(|steps| steps.to_string().into()));
    option("--max-cost", model.max_cost.map(|usd| usd.to_string().into()));
    option("--until", limits.until.as_ref().map(Into::into));
    option("--max-minutes", limits.max_minutes.map(|minutes| minutes.to_string().into()));
    for (name, values) in [("--header", &model.header), ("--allow", &model.allow), ("--deny", &model.deny)] {
        values.iter().for_each(|value| option(name, Some(value.into())));
    }
    for folder in &model.add_dir {
        // Absolute, because the task works in another folder.
        option("--add-dir", Some(std::path::absolute(folder).unwrap_or_else(|_| folder.clone()).into()));
    }
    if limits.keep {
        flags.push("--keep".into());
    }
    if model.trust {
        flags.push("--trust".into());
    }
    flags
}

/// Appends the task's events and messages to `output`.
pub async fn start(
    flags: Vec<OsString>,
    folder: &Path,
    resume: Option<&str>,
    prompt: &str,
    output: &Path,
) -> io::Result<Child> {
    let output = file::open_private(fs::OpenOptions::new().append(true).create(true), output)?;
    let mut command = Command::new(programs::own()?);
    command.args(["exec", "--json"]).args(flags).arg("--cd").arg(folder);
    command.args(["--batch-process", &std::process::id().to_string()]);
    if let Some(session) = resume {
        command.args(["--resume", session]);
    }
    command.arg("-").stdin(Stdio::piped()).stderr(output.try_clone()?).stdout(output);
    // In its own group, so that a Ctrl-C at the terminal reaches it once, through the batch.
    os::in_own_group(command.as_std_mut());
    let mut child = command.kill_on_drop(true).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // A task that ends at once reports why.
        let _ = input.write_all(prompt.as_bytes()).await;
    }
    Ok(child)
}

pub fn interrupt(child: &Child) {
    os::send(child.id().map_or(0, u32::cast_signed), Signal::TERM);
}

/// Called in the task's process: kills it with its batch, so that a rerun finds no task still running.
pub fn end_with(batch: u32) -> Result<(), Failure> {
    if os::end_with_parent() == batch {
        return Ok(());
    }
    Err(Failure::task("the batch that this task belongs to has ended", "run the batch again"))
}

#[derive(Debug, Default)]
pub struct TaskOutput {
    pub session: Option<String>,
    /// The model's last text since that session was opened.
    pub answer: Option<String>,
    pub exit_code: Option<u8>,
    pub error: Option<String>,
    pub hint: Option<String>,
    /// What is true and bad at its end.
    pub facts: Vec<Value>,
    /// The outage that is being waited out, or that outlasted the wait.
    pub outage: Option<String>,
    session_usd: f64,
    /// The cost of the task's earlier sessions.
    earlier_usd: f64,
}

impl TaskOutput {
    pub fn read(path: &Path, start: usize) -> Self {
        let mut output = Self::default();
        output.read_on(path, start);
        output
    }

    /// Reads whole lines from `start` on; returns where the next one begins.
    pub fn read_on(&mut self, path: &Path, start: usize) -> usize {
        let bytes = file::tail_from(path, start as u64).unwrap_or_default();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes[..whole].split(|byte| *byte == b'\n').for_each(|line| self.line(line));
        start + whole
    }

    pub fn state(&self) -> String {
        self.exit_code.map_or("open".to_owned(), ExitCode::shown)
    }

    pub fn cost_usd(&self) -> f64 {
        self.earlier_usd + self.session_usd
    }

    fn line(&mut self, line: &[u8]) {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let Ok(event) = serde_json::from_slice::<Value>(line) else {
            let line = String::from_utf8_lossy(line);
            if let Some(error) = line.strip_prefix("error: ") {
                self.error = Some(error.to_owned());
            } else if let Some(hint) = line.strip_prefix("hint: ") {
                self.hint = Some(hint.to_owned());
            }
            return;
        };
        match event["type"].as_str() {
            Some("session") => {
                let session = text(&event["id"]);
                // The cost that a continued session reports includes what it cost before.
                let (earlier_usd, session_usd) = match session == self.session {
                    true => (self.earlier_usd, self.session_usd),
                    false => (self.cost_usd(), 0.0),
                };
                *self = Self { session, earlier_usd, session_usd, ..Self::default() };
            }
            Some("usage") => self.session_usd = event["cost_usd"].as_f64().unwrap_or(self.session_usd),
            Some("text") => {
                self.answer = text(&event["text"]);
                self.outage = None;
            }
            Some("tool_started" | "tool_done") => self.outage = None,
            Some("retrying") => {
                self.outage = text(&event["reason"]).filter(|reason| reason.contains(WAITING));
            }
            Some("turn_ended") => {
                self.exit_code = event["exit_code"].as_u64().and_then(|code| u8::try_from(code).ok());
                self.error = text(&event["message"]);
                self.facts = event["facts"].as_array().cloned().unwrap_or_default();
                self.outage = self.outage.take().filter(|_| self.exit_code == Some(4));
            }
            _ => {}
        }
    }
}
