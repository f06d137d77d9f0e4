//! `exec --review`: before a turn ends, a reviewer with its own window reads the task and the changes. Its findings are
//! sent to the model once.

use std::sync::Arc;

use super::error::TurnError;
use super::finish;
use crate::control::TurnControl;
use crate::parts::Agent;
use crate::qa::reviewer::{self, ChangeReviewer};
use crate::session::review;
use base::model::usage::Usage;
use base::process::task;
use base::protocol::event::{Event, Level};
use base::protocol::review::ReviewOutcome;
use tools::cx::ToolCx;

const MOST_FINDINGS: usize = 5;
const MIN_TOKENS: u64 = 30_000;
const MOST_STEPS: u32 = 20;

/// Returns the findings for the model, if any. A review that can't be done is skipped with a notice.
pub async fn review(
    agent: &mut Agent,
    turn: bool,
    control: &TurnControl,
) -> Result<Option<String>, TurnError> {
    let mut spent = Vec::new();
    let reviewed = outcome(agent, turn, control, &mut spent).await;
    let mut usage = Usage::default();
    for (model, used) in &spent {
        agent.conversation.add_side_usage(model, used)?;
        usage.add(used);
    }
    if control.cancel.is_cancelled() {
        return Err(TurnError::Interrupted);
    }
    let outcome = match reviewed {
        Ok(outcome) => ReviewOutcome { usage, ..outcome },
        Err(why) => {
            control.notice(Level::Warning, format!("The review was skipped: {why}."));
            return Ok(None);
        }
    };
    let told = (!outcome.passed).then(|| told(&outcome));
    let _ = control.events.send(Event::Review(outcome));
    Ok(told)
}

fn told(outcome: &ReviewOutcome) -> String {
    let findings = outcome.findings.iter().take(MOST_FINDINGS).map(|finding| finding.line());
    let lines: String = findings.chain(outcome.failed.clone()).map(|line| format!("\n- {line}")).collect();
    format!(
        "A reviewer who saw only the task and your changes found:{lines}\n\
         Check each one. Fix those that are right; for the others, say why not."
    )
}

/// The error says why there is no outcome; `spent` gets the usage in any case.
async fn outcome(
    agent: &Agent,
    turn: bool,
    control: &TurnControl,
    spent: &mut Vec<(Arc<str>, Usage)>,
) -> Result<ReviewOutcome, String> {
    let Agent { conversation, dispatcher, window, .. } = agent;
    let cx = ToolCx { call_id: "review".into(), cancel: control.cancel.clone(), ..dispatcher.cx.clone() };
    let agents = dispatcher.cx.sub_agents.clone().ok_or("it needs a session")?;
    let own = cx.clone();
    let looked = task::blocking(move || review::changes(&own, turn)).await;
    let mut changes = looked.map_err(|error| error.to_string())?;
    changes.files.retain(|file| !cx.denied.hides(&cx.root.join(&file.path)));
    if changes.files.is_empty() {
        return Err("no file was changed".to_owned());
    }
    let (task, diff) = (finish::asked(conversation), reviewer::diff(&changes));
    let window_tokens = window.settings().window_tokens;
    let tenth = (conversation.usage.total.total() / 10).max(MIN_TOKENS);
    let at_most = turn.then_some((MOST_STEPS, tenth));
    let reviewer = ChangeReviewer {
        dispatcher,
        agents: &*agents,
        window_tokens,
        cx,
        at_most,
        questions: Some(&control.questions),
    };
    reviewer.review(("Task", &task), ("Changes", &diff), spent).await
}
