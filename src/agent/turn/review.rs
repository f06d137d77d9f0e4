//! `exec --review`: before a turn ends, a reviewer with a window of its own reads the task and what was changed. What it finds is
//! told to the model once.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::error::TurnError;
use super::finish;
use crate::control::{Events, notice};
use crate::parts::Agent;
use crate::qa::checks::{self, CheckOutcome, CheckRunner};
use crate::qa::prompts;
use crate::qa::verdict::{self, ReviewVerdict};
use crate::session::review::Reviewer;
use base::model::item::{Item, Reminder, ReminderTopic};
use base::model::usage::Usage;
use base::protocol::event::{Event, Level};
use base::protocol::review::{Changes, ReviewOutcome};
use base::text;
use tools::cx::ToolCx;
use tools::sub_agent::SubTask;

/// Of the diff, in bytes: about 8k tokens. The files of the rest are named.
const DIFF_BYTES: usize = 24_000;

/// Returns whether the model was told something. A review that can't be done is skipped with a notice.
pub async fn review(
    agent: &mut Agent,
    cancel: &CancellationToken,
    events: &Events,
) -> Result<bool, TurnError> {
    let mut spent = Vec::new();
    let reviewed = outcome(agent, cancel, &mut spent).await;
    let mut usage = Usage::default();
    for (model, used) in &spent {
        agent.conversation.add_side_usage(model, used)?;
        usage.add(used);
    }
    if cancel.is_cancelled() {
        return Err(TurnError::Interrupted);
    }
    let outcome = match reviewed {
        Ok(outcome) => ReviewOutcome { usage, ..outcome },
        Err(why) => {
            notice(events, Level::Warning, format!("The review was skipped: {why}."));
            return Ok(false);
        }
    };
    let passed = outcome.passed;
    let told = told(&outcome);
    let _ = events.send(Event::Review(outcome));
    if !passed {
        let reminder = Reminder { about: ReminderTopic::Review, text: told.into() };
        agent.conversation.record(Item::Reminder(reminder))?;
    }
    Ok(!passed)
}

fn told(outcome: &ReviewOutcome) -> String {
    let findings = outcome.findings.iter().map(|finding| finding.line());
    let lines: String = findings.chain(outcome.failed.clone()).map(|line| format!("\n- {line}")).collect();
    format!(
        "A reviewer who saw only the task and your changes found:{lines}\n\
         Check each one. Fix those that are right; for the others, say why not."
    )
}

/// The error says why there is none. `spent` takes what it cost in any case.
async fn outcome(
    agent: &Agent,
    cancel: &CancellationToken,
    spent: &mut Vec<(Arc<str>, Usage)>,
) -> Result<ReviewOutcome, String> {
    let Agent { conversation, dispatcher, window, .. } = agent;
    let cx = ToolCx { call_id: "review".into(), cancel: cancel.clone(), ..dispatcher.cx.clone() };
    let (Some(agents), Some(journal)) = (&cx.sub_agents, cx.journal.clone()) else {
        return Err("it needs a session".to_owned());
    };
    let reviewer = Reviewer { journal, redactor: Arc::clone(&cx.redactor) };
    let root = Arc::clone(&cx.root);
    let looked =
        tokio::task::spawn_blocking(move || (reviewer.changes(true), checks::of_project(&root, &[])));
    let (changes, wanted) = looked.await.map_err(|error| error.to_string())?;
    if changes.files.is_empty() {
        return Err("no file was changed".to_owned());
    }
    let runner =
        CheckRunner { dispatcher, window_tokens: window.settings().window_tokens, cancel: cancel.clone() };
    let mut results = Vec::new();
    for check in &wanted {
        results.push(runner.run(check).await.ok_or("it was interrupted")?);
    }
    let task = finish::asked(conversation);
    let (diff, shown) = (diff(&changes), checks::text(&results));
    let mut task = SubTask {
        kind: "qa_reviewer".to_owned(),
        prompt: prompts::review(("Task", &task), ("Changes", &diff), &shown),
        ..SubTask::default()
    };
    let mut why = String::new();
    for _ in 0..2 {
        let report = agents.run(task, &cx).await?;
        spent.push((Arc::clone(&report.model), report.usage));
        match ReviewVerdict::read(&report.answer) {
            Ok(verdict) => {
                let failed = results.iter().filter(|result| result.outcome == CheckOutcome::Failed);
                let failed: Vec<String> = failed.map(|result| result.line()).collect();
                return Ok(ReviewOutcome {
                    passed: verdict.passes() && failed.is_empty(),
                    findings: verdict.findings,
                    failed,
                    checks: results.iter().map(|result| result.line()).collect(),
                    usage: Usage::default(),
                });
            }
            Err(unread) => why = unread,
        }
        let (kind, prompt) = ("qa_reviewer".to_owned(), verdict::asked_again(&why));
        task = SubTask { kind, prompt, resume: Some(report.id), ..SubTask::default() };
    }
    Err(format!("the reviewer gave no readable verdict ({why})"))
}

fn diff(changes: &Changes) -> String {
    let mut shown = String::new();
    let mut more = Vec::new();
    for file in &changes.files {
        let hunks: String = file.hunks.iter().map(|hunk| format!("{}\n", hunk.diff.trim_end())).collect();
        let part = format!("### {}\n{hunks}\n", file.heading());
        if shown.len() + part.len() > DIFF_BYTES {
            more.push(file.path.as_str());
        } else {
            shown.push_str(&part);
        }
    }
    if !more.is_empty() {
        shown.push_str(&format!("Not shown, read them: {}\n", text::one_line(&more.join(", "), 2_000)));
    }
    shown
}
