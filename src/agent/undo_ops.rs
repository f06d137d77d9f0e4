//! Rewinds, and reverting or staging single hunks.

use std::sync::Arc;

use super::control::{Events, notice};
use super::deps::EngineDeps;
use super::parts::Agent;
use super::quick_ops::quick_op;
use crate::session::review;
use crate::session::rewind::{self, RewindError};
use base::process::task;
use base::protocol::event::{Event, Level};
use base::protocol::notice as texts;
use base::protocol::op::{Quick, Undo};
use base::protocol::review::HunkId;
use base::protocol::rewind::RewindDone;
use context::session::journal::recorder::Journal;

/// Returns whether the session must be announced again.
pub async fn undo_op(op: Undo, agent: &mut Agent, deps: &EngineDeps, events: &Events) -> bool {
    let Some(journal) = agent.dispatcher.cx.journal.clone() else { return false };
    let journal = &journal;
    match op {
        Undo::ListPoints => {
            let lines = rewind::journal_lines(journal).await;
            let _ = events.send(Event::RewindPoints(rewind::points(&agent.conversation, &lines)));
        }
        Undo::PreviewRewind { point } => {
            match rewind::preview_of(&agent.conversation, journal, point).await {
                Ok(preview) => drop(events.send(Event::RewindPreview(preview))),
                Err(error) => notice(events, Level::Error, texts::rewind_failed(error)),
            }
        }
        Undo::Rewind { point, part, force } => {
            let done = rewind::carry_out(&mut agent.conversation, journal, point, part, force).await;
            return went_back(done, agent, events).await;
        }
        Undo::StageHunk { turn, hunk } => {
            let (journal, path) = (Arc::clone(journal), hunk.path.clone());
            let staged = task::blocking(move || review::stage(&journal, turn, &hunk)).await;
            match staged
                .map_err(|error| error.to_string())
                .and_then(|done| done.map_err(|why| why.to_string()))
            {
                Ok(()) => notice(events, Level::Info, texts::hunk_staged(&path)),
                Err(why) => notice(events, Level::Warning, texts::hunk_not_staged(&path, &why)),
            }
        }
        Undo::RevertHunk { turn, hunk } => {
            revert(turn, hunk, journal, agent, events).await;
            quick_op(Quick::ShowChanges { turn }, &agent.dispatcher.policy, deps, events);
        }
    }
    false
}

async fn went_back(done: Result<RewindDone, RewindError>, agent: &mut Agent, events: &Events) -> bool {
    match done {
        Ok(done) => {
            agent.input.reminder = rewind::reminder(&done).or(agent.input.reminder.take());
            if done.part.conversation() {
                agent.restore_tools().await;
            }
            agent.measure();
            let level = if done.left.is_empty() { Level::Info } else { Level::Warning };
            let (text, conversation) = (texts::rewound(&done), done.part.conversation());
            let _ = events.send(Event::Rewound(done));
            if conversation {
                let entries = agent.conversation.state.history.entries();
                let left = entries.iter().map(|entry| Arc::clone(&entry.item)).collect();
                let _ = events.send(Event::History(left));
            }
            notice(events, level, text);
            true
        }
        Err(error) => {
            notice(events, Level::Error, texts::rewind_failed(error));
            false
        }
    }
}

async fn revert(turn: bool, hunk: HunkId, journal: &Arc<Journal>, agent: &mut Agent, events: &Events) {
    let path = hunk.path.clone();
    match rewind::revert_hunk(&agent.conversation, journal, turn, hunk).await {
        Ok(told) => {
            let before = agent.input.reminder.take().filter(|before| *before != told);
            let before = before.map(|before| format!("{before}\n")).unwrap_or_default();
            agent.input.reminder = Some(format!("{before}{told}"));
            notice(events, Level::Info, texts::hunk_reverted(&path));
        }
        Err(why) => notice(events, Level::Warning, texts::hunk_not_reverted(&path, &why)),
    }
}
