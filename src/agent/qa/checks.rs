//! Runs the project's own checks. The program runs them so that a model can't just claim to. The policy and the
//! sandbox apply as to any command.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::calls::dispatcher::Dispatcher;
use crate::control::{Questions, TurnControl};
use crate::work::work_log::{CheckRun, NO_TESTS, stable};
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::item::ItemId;
use base::{file, sanitize, text};
use guard::policy::command_prefix::NO_CACHE;
use tools::check::closing_lines;
use tools::check::project::{self, ProjectCheck};

/// A check that takes longer counts as failed.
const LIMIT_MS: u64 = 600_000;
const LAST_WRITES: Duration = Duration::from_secs(5);
const SHOWN_BYTES: usize = 3_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    Passed,
    Failed,
    NoTests,
    NotRun,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckResult {
    pub command: String,
    pub outcome: CheckOutcome,
    /// Such as `exit code 101, "2 failed"`.
    pub how: String,
    #[serde(skip)]
    output: String,
}

impl CheckResult {
    fn of(command: &str, envelope: &Envelope) -> Self {
        let ran = RanCheck::of(envelope);
        if ran.denied || envelope.data.command().is_none() {
            let why = envelope.data.user_text().unwrap_or(&ran.how);
            return not_run(command, text::one_line(why, 300));
        }
        let outcome = match ran.exit_code {
            _ if ran.timed_out => CheckOutcome::Failed,
            _ if ran.no_tests => CheckOutcome::NoTests,
            Some(0) => CheckOutcome::Passed,
            _ => CheckOutcome::Failed,
        };
        let body = envelope.body.trim();
        let start = body.ceil_char_boundary(body.len().saturating_sub(SHOWN_BYTES));
        let whole = if start == 0 { Some(0) } else { body[start..].find('\n').map(|at| start + at + 1) };
        let output = body[whole.unwrap_or(start)..].to_owned();
        let how = match ran.timed_out {
            true => ran.how,
            false => {
                how(envelope).or(ran.exit_code.map(|code| format!("exit code {code}"))).unwrap_or_default()
            }
        };
        Self { command: command.to_owned(), outcome, how, output }
    }

    pub fn line(&self) -> String {
        let outcome = match self.outcome {
            CheckOutcome::Passed => "passed",
            CheckOutcome::Failed => "failed",
            CheckOutcome::NoTests => "ran no tests",
            CheckOutcome::NotRun => "not run",
        };
        let how = if self.how.is_empty() || self.how == NO_TESTS {
            String::new()
        } else {
            format!(" ({})", self.how)
        };
        format!("`{}`: {outcome}{how}", self.command)
    }
}

/// The project's current checks, and those it had before. Reads the disk.
pub fn of_project(root: &Path, before: &[CheckResult]) -> Vec<ProjectCheck> {
    let ran = before.iter().filter(|result| result.outcome != CheckOutcome::NotRun);
    let known =
        ran.map(|result| ProjectCheck { command: result.command.clone(), otherwise: None, installed: true });
    let mut checks: Vec<ProjectCheck> = known.collect();
    for found in project::checks(root) {
        let is_it = |known: &ProjectCheck| {
            known.command == found.command || Some(&known.command) == found.otherwise.as_ref()
        };
        if !checks.iter().any(is_it) {
            checks.push(found);
        }
    }
    checks
}

pub struct CheckRunner<'a> {
    pub dispatcher: &'a Dispatcher,
    pub window_tokens: u64,
    pub cancel: CancellationToken,
    pub questions: Option<&'a Arc<Questions>>,
}

impl CheckRunner<'_> {
    pub async fn run(&self, check: &ProjectCheck) -> Option<CheckResult> {
        if !check.installed {
            return Some(not_run(&check.command, "its program is not installed".to_owned()));
        }
        let result = self.command(&check.command).await?;
        match &check.otherwise {
            Some(other) if result.output.contains("No module named pytest") => self.command(other).await,
            _ => Some(result),
        }
    }

    async fn command(&self, command: &str) -> Option<CheckResult> {
        let envelope = self.envelope(&format!("{NO_CACHE}=1 {command}")).await?;
        Some(CheckResult::of(command, &envelope))
    }

    /// Runs a user's command; `None` if it was interrupted.
    pub async fn ran(&self, command: &str) -> Option<RanCheck> {
        Some(RanCheck::of(&self.envelope(command).await?))
    }

    async fn envelope(&self, command: &str) -> Option<Envelope> {
        let control = match self.questions {
            Some(questions) => {
                let (unseen, _) = mpsc::unbounded_channel();
                TurnControl::within(questions, &unseen, self.cancel.clone(), None)
            }
            None => TurnControl::alone(self.cancel.clone()),
        };
        let cx = &self.dispatcher.cx;
        let args =
            json!({"command": command, "directory": cx.root.to_string_lossy(), "timeout_ms": LIMIT_MS});
        let call = ToolCall { id: "check".into(), name: "Bash".into(), args: args.to_string().into() };
        let ran = self.dispatcher.run_alone(call, self.window_tokens, &Arc::new(control)).await;
        let envelope = ran.map_or_else(|| Envelope::success(""), |ran| ran.envelope);
        if let Some(job) = envelope.data.command().and_then(|ran| ran.job) {
            cx.shell.jobs.stop(job);
            cx.shell.jobs.ended(job, LAST_WRITES).await;
        }
        let interrupted = envelope.error.as_ref().is_some_and(|error| error.code == ErrorCode::Interrupted);
        (!interrupted && !self.cancel.is_cancelled()).then_some(envelope)
    }
}

pub struct RanCheck {
    pub exit_code: Option<i64>,
    pub timed_out: bool,
    /// A test runner says so, whatever its exit code.
    pub no_tests: bool,
    pub denied: bool,
    pub output: String,
    pub how: String,
}

impl RanCheck {
    fn of(envelope: &Envelope) -> Self {
        let ran = envelope.data.command();
        let (exit_code, timed_out) =
            (envelope.data.exit_code(), ran.is_some_and(|ran| ran.running == Some(true)));
        let error = envelope.error.as_ref();
        let how = match error {
            _ if timed_out => format!("not finished after {} minutes", LIMIT_MS / 60_000),
            Some(error) => error.message.clone(),
            None => how(envelope).or(exit_code.map(|code| format!("exit code {code}"))).unwrap_or_default(),
        };
        Self {
            exit_code,
            timed_out,
            no_tests: closing_lines::ran_tests(&envelope.body) == Some(false),
            denied: error.is_some_and(|error| error.code == ErrorCode::PermissionDenied),
            output: error.map_or_else(|| envelope.body.trim().to_owned(), |error| error.message.clone()),
            how,
        }
    }

    /// Equal for equal output, ignoring times and the like.
    pub fn hash(&self) -> String {
        file::hash(stable(&self.output).as_bytes())
    }
}

/// How a known check describes its result.
fn how(envelope: &Envelope) -> Option<String> {
    let check = envelope.data.command()?.check.clone()?;
    Some(CheckRun::new(check, ItemId(0), envelope).how).filter(|how| !how.is_empty())
}

fn not_run(command: &str, how: String) -> CheckResult {
    CheckResult { command: command.to_owned(), outcome: CheckOutcome::NotRun, how, output: String::new() }
}

pub fn text(results: &[CheckResult]) -> String {
    if results.is_empty() {
        return "No check found in this project.".to_owned();
    }
    let shown = |result: &CheckResult| match result.output.as_str() {
        "" => format!("- {}", result.line()),
        output => {
            format!("- {}. The end of its output:\n```\n{}\n```", result.line(), sanitize::as_data(output))
        }
    };
    results.iter().map(shown).collect::<Vec<_>>().join("\n")
}
