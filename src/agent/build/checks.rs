//! Runs the project's own checks in a build: once before the coding, for comparison, and before each review.

use std::sync::Arc;

use super::changes;
use super::git;
use super::progress::BuildEvent;
use super::roles::Stop;
use super::state::Build;
use crate::qa::checks::{self, CheckOutcome, CheckResult, CheckRunner};
use base::process::task;
use base::protocol::event::EndReason;

const BEFORE: &str = "checks-before.json";

/// What package managers write when a project is built or tested.
const LOCK_FILES: [&str; 9] = [
    "Cargo.lock",
    "Gemfile.lock",
    "composer.lock",
    "go.sum",
    "package-lock.json",
    "pnpm-lock.yaml",
    "poetry.lock",
    "uv.lock",
    "yarn.lock",
];

fn is_lock_file(path: &str) -> bool {
    LOCK_FILES.contains(&path.rsplit('/').next().unwrap_or(path))
}

pub async fn before(build: &mut Build) -> Result<(), Stop> {
    if build.folder.read(BEFORE).is_none() {
        let root = Arc::clone(&build.cx().root);
        let known = if build.options.commit { git::untracked(&root).await? } else { Vec::new() };
        let results = run(build).await?;
        if build.options.commit {
            // A subtask that commits its own could not be merged. Other new files may be the user's.
            let mut left = git::untracked(&root).await?;
            left.retain(|file| !known.contains(file) && is_lock_file(file));
            git::remove_untracked(&root, &left).await?;
        }
        let text = serde_json::to_string_pretty(&results).unwrap_or_default();
        build.folder.write(BEFORE, &text).map_err(|error| build.unwritable(BEFORE, error))?;
    }
    Ok(())
}

fn results_before(build: &Build) -> Vec<CheckResult> {
    build.folder.read(BEFORE).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
}

/// Runs the project's current checks and those it had before.
pub async fn run(build: &mut Build) -> Result<Vec<CheckResult>, Stop> {
    let root = Arc::clone(&build.cx().root);
    let before = results_before(build);
    let looked = task::blocking(move || checks::of_project(&root, &before));
    let wanted = looked.await.unwrap_or_default();
    let mut results = Vec::new();
    if wanted.is_empty() {
        return Ok(results);
    }
    build.roles.begin(changes::OF_CHECKS)?;
    let (session, show) = (&build.roles.session, &build.roles.show);
    let dispatcher = &session.agents.dispatcher;
    let window_tokens = session.setup.loaded.context.window_tokens;
    let cancel = dispatcher.cx.cancel.clone();
    let runner = CheckRunner { dispatcher, window_tokens, cancel, questions: None };
    for check in wanted {
        show.say(&BuildEvent::PartStarted { part: "check", role: "program", about: &check.command });
        let Some(result) = runner.run(&check).await else {
            let end = EndReason::Interrupted { prompt_returned: None };
            return Err(Stop::Role { part: format!("check {}", check.command), end });
        };
        show.say(&BuildEvent::Check(&result));
        results.push(result);
    }
    build.roles.end(&checks::text(&results), EndReason::Done, 0)?;
    Ok(results)
}

/// Why the results don't pass, whatever a reviewer says.
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
