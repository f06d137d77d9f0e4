//! Runs the project's own checks: before the coding, to know how it was, and before each review. The program runs them, not a
//! role, so that nobody can only claim it. As for any command, the policy and the sandbox decide.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::progress::BuildEvent;
use super::roles::{Roles, Stop};
use super::state::Build;
use crate::assemble::RoleSession;
use crate::work::work_log::CheckRun;
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::item::ItemId;
use base::protocol::event::EndReason;
use base::sanitize;
use base::text;
use tools::check::closing_lines;
use tools::check::project::{self, ProjectCheck};

/// A check that takes longer counts as failed.
const LIMIT_MS: u64 = 600_000;
/// Of the output, in bytes.
const SHOWN_BYTES: usize = 3_000;
/// The results before the coding.
const BEFORE: &str = "checks-before.json";
/// The turn in whose name the journal holds what checks write.
pub const TITLE: &str = "checks of the build";

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
    how: String,
    /// Its end.
    #[serde(skip)]
    output: String,
}

impl CheckResult {
    pub fn line(&self) -> String {
        let outcome = match self.outcome {
            CheckOutcome::Passed => "passed",
            CheckOutcome::Failed => "failed",
            CheckOutcome::NoTests => "ran no tests",
            CheckOutcome::NotRun => "not run",
        };
        let how = if self.how.is_empty() { String::new() } else { format!(" ({})", self.how) };
        format!("`{}`: {outcome}{how}", self.command)
    }
}

/// Runs the checks once before the coding.
pub async fn before(build: &mut Build) -> Result<(), Stop> {
    if build.folder.read(BEFORE).is_none() {
        let results = run(build).await?;
        let text = serde_json::to_string_pretty(&results).unwrap_or_default();
        build.folder.write(BEFORE, &text).map_err(|error| build.unwritable(BEFORE, error))?;
    }
    Ok(())
}

fn results_before(build: &Build) -> Vec<CheckResult> {
    build.folder.read(BEFORE).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Runs the checks that the project has now and those that it had before.
pub async fn run(build: &mut Build) -> Result<Vec<CheckResult>, Stop> {
    let root = Arc::clone(&build.roles.session.agents.dispatcher.cx.root);
    let found = tokio::task::spawn_blocking(move || project::checks(&root)).await.unwrap_or_default();
    let mut results = Vec::new();
    let known: Vec<String> = results_before(build)
        .into_iter()
        .filter(|result| result.outcome != CheckOutcome::NotRun)
        .map(|result| result.command)
        .collect();
    let is_known = |check: &ProjectCheck| {
        known.contains(&check.command) || check.otherwise.as_ref().is_some_and(|other| known.contains(other))
    };
    let new: Vec<ProjectCheck> = found.into_iter().filter(|check| !is_known(check)).collect();
    if known.is_empty() && new.is_empty() {
        return Ok(results);
    }
    build.roles.begin(TITLE)?;
    for command in &known {
        results.push(one(&build.roles, command).await?);
    }
    for check in new {
        let mut result = match check.installed {
            true => one(&build.roles, &check.command).await?,
            false => not_run(&check.command, "its program is not installed".to_owned()),
        };
        if let Some(other) = check.otherwise.filter(|_| result.output.contains("No module named pytest")) {
            result = one(&build.roles, &other).await?;
        }
        results.push(result);
    }
    build.roles.end(&text(&results), EndReason::Done, 0)?;
    Ok(results)
}

async fn one(roles: &Roles, command: &str) -> Result<CheckResult, Stop> {
    let Roles { session: RoleSession { agents, .. }, show, .. } = roles;
    show.say(&BuildEvent::Started { part: "check", role: "program", about: command });
    let cx = &agents.dispatcher.cx;
    // Python takes a file of the same size that was written in the same second for unchanged.
    let run = format!("PYTHONDONTWRITEBYTECODE=1 {command}");
    let args = json!({"command": run, "directory": cx.root.to_string_lossy(), "timeout_ms": LIMIT_MS});
    let call = ToolCall { id: "check".into(), name: "Bash".into(), args: args.to_string().into() };
    let ran = agents.run_alone(call).await;
    let envelope = ran.map_or_else(|| Envelope::success(""), |ran| ran.envelope);
    cx.shell.jobs.stop_all().await;
    if cx.cancel.is_cancelled()
        || envelope.error.as_ref().is_some_and(|error| error.code == ErrorCode::Interrupted)
    {
        let end = EndReason::Interrupted { prompt_returned: None };
        return Err(Stop::Role { part: format!("check {command}"), end });
    }
    let result = judged(command, &envelope);
    show.say(&BuildEvent::Checked { result: &result });
    Ok(result)
}

fn judged(command: &str, envelope: &Envelope) -> CheckResult {
    let start = text::ceil_boundary(&envelope.body, envelope.body.len().saturating_sub(SHOWN_BYTES));
    let output = envelope.body[start..].trim().to_owned();
    let Some(ran) = envelope.data.command() else {
        let why =
            envelope.error.as_ref().map_or_else(String::new, |error| text::one_line(&error.message, 300));
        return not_run(command, why);
    };
    if ran.running == Some(true) {
        let how = format!("not done after {} minutes", LIMIT_MS / 60_000);
        return CheckResult { command: command.to_owned(), outcome: CheckOutcome::Failed, how, output };
    }
    let how = ran.check.clone().map(|check| CheckRun::new(check, ItemId(0), envelope).how);
    let code = envelope.data.exit_code();
    let outcome = match (closing_lines::ran_tests(&envelope.body), code) {
        (Some(false), _) => CheckOutcome::NoTests,
        (_, Some(0)) => CheckOutcome::Passed,
        _ => CheckOutcome::Failed,
    };
    let how = how.or_else(|| code.map(|code| format!("exit code {code}"))).unwrap_or_default();
    CheckResult { command: command.to_owned(), outcome, how, output }
}

fn not_run(command: &str, how: String) -> CheckResult {
    CheckResult { command: command.to_owned(), outcome: CheckOutcome::NotRun, how, output: String::new() }
}

/// For the reviewer and the fixer.
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

/// Why the results are no pass, whatever a reviewer says.
pub fn problems(build: &Build, results: &[CheckResult]) -> Vec<String> {
    let before = results_before(build);
    let was =
        |result: &CheckResult| before.iter().find(|old| old.command == result.command).map(|old| old.outcome);
    let problem = |result: &CheckResult| match (result.outcome, was(result)) {
        (CheckOutcome::Failed, Some(CheckOutcome::Failed)) => {
            Some(format!("`{}` fails ({}), as it did before the build", result.command, result.how))
        }
        (CheckOutcome::Failed, _) => Some(format!("`{}` fails ({})", result.command, result.how)),
        (CheckOutcome::NoTests, Some(CheckOutcome::Passed | CheckOutcome::Failed)) => {
            Some(format!("`{}` ran no tests, and there were some before the build", result.command))
        }
        (CheckOutcome::NotRun, Some(CheckOutcome::Passed)) => {
            Some(format!("`{}` could not be run again: {}", result.command, result.how))
        }
        _ => None,
    };
    results.iter().filter_map(problem).collect()
}
