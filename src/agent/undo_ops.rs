//! Operations that take changes back: rewinds to a point, and single hunks.

use std::sync::Arc;

use super::control::{Events, notice};
use super::deps::EngineDeps;
use super::parts::Agent;
use crate::agent::session::{inspect, review, rewind};
use crate::protocol::event::{Event, Level};
use crate::protocol::notice as texts;
use crate::protocol::op::Op;
use crate::protocol::review::HunkId;
use crate::protocol::rewind::{PointId, RewindScope};

/// Carries one out; whether the session is another one now.
pub async fn undo_op(op: Op, agent: &mut Agent, deps: &EngineDeps, events: &Events) -> bool {
    let Some(journal) = &deps.journal else { return false };
    match op {
        Op::ListPoints => {
            let lines = rewind::journal_lines(journal).await;
            let _ = events.send(Event::RewindPoints(rewind::points(&agent.conversation, &lines)));
        }
        Op::PreviewRewind { point } => match rewind::preview_of(&agent.conversation, journal, point).await {
            Ok(preview) => drop(events.send(Event::RewindPreview(preview))),
            Err(error) => notice(events, Level::Error, texts::rewind_failed(error)),
        },
        Op::Rewind { point, part, force } => return go_back(point, part, force, agent, deps, events).await,
        Op::RevertHunk { turn, hunk } => revert(turn, hunk, agent, deps, events).await,
        _ => {}
    }
    false
}

async fn go_back(
    point: PointId,
    scope: RewindScope,
    force: bool,
    agent: &mut Agent,
    deps: &EngineDeps,
    events: &Events,
) -> bool {
    let Some(journal) = &deps.journal else { return false };
    match rewind::carry_out(&mut agent.conversation, journal, point, scope, force).await {
        Ok(done) => {
            agent.input.reminder = rewind::reminder(&done).or(agent.input.reminder.take());
            if done.part.conversation() {
                agent.restore_tools().await;
            }
            agent.measure();
            let level = if done.left.is_empty() { Level::Info } else { Level::Warning };
            notice(events, level, texts::rewound(&done));
            let _ = events.send(Event::Rewound(done));
            true
        }
        Err(error) => {
            notice(events, Level::Error, texts::rewind_failed(error));
            false
        }
    }
}

async fn revert(turn: bool, hunk: HunkId, agent: &mut Agent, deps: &EngineDeps, events: &Events) {
    let Some(journal) = deps.journal.clone() else { return };
    let last = agent.conversation.last_item();
    let (path, work) = (hunk.path.clone(), Arc::clone(&journal));
    let work = tokio::task::spawn_blocking(move || review::revert(&work, turn, &hunk, last)).await;
    let left = match work {
        Ok(Ok(outcome)) => outcome.left.into_iter().next().map(|(_, why)| why),
        Ok(Err(error)) => Some(error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    match left {
        Some(why) => notice(events, Level::Warning, texts::hunk_not_reverted(&path, &why)),
        None => {
            let told = rewind::files_reminder(std::slice::from_ref(&path));
            let before = agent.input.reminder.take();
            agent.input.reminder = match (before, told) {
                (Some(before), Some(told)) if before != told => Some(format!("{before}\n{told}")),
                (before, told) => told.or(before),
            };
            notice(events, Level::Info, texts::hunk_reverted(&path));
        }
    }
    inspect::changes(journal, Arc::clone(&deps.redactor), turn, events.clone());
}
