//! Reopens a session from its log. Interrupted calls get a result, so that the next request is valid.

use std::path::Path;
use std::sync::Arc;

use super::conversation::{Conversation, ResumedState};
use base::model::envelope::{Envelope, ErrorCode};
use base::model::item::{Item, ToolResult};
use base::protocol::notice;
use context::history::normalize::LOST_RESULT;
use context::replay::session_replay::SessionReplay;
use context::session::list;
use context::session::log::{self, LogError, SessionLog};
use context::session::reader;
use context::session::record::Record;

pub struct ReopenedSession {
    pub conversation: Conversation,
    pub notices: Vec<String>,
}

/// Calls that never got a result get one now, in the log too.
pub fn restore(project_state: &Path, workspace: &Path, path: &Path) -> Result<ReopenedSession, LogError> {
    let log = SessionLog::open(path)?;
    let read = reader::read(path).map_err(|source| LogError::Io {
        path: path.to_owned(),
        action: "read",
        source,
    })?;
    let mut state = ResumedState::default();
    let mut replay = SessionReplay::default();
    for record in &read.records {
        if !replay.apply(record) {
            continue;
        }
        match record {
            Record::Item(record) => state.facts.add(record.id, record.ms, &record.item),
            // The last reported size was that of a different request.
            Record::Forms(_) | Record::Archive { .. } | Record::Unarchive {} => state.usage.forget_report(),
            Record::Rewind { to } => {
                state.facts.rewind(*to);
                state.usage.forget_report();
            }
            Record::Revive { rewind } => {
                state.facts.revive(*rewind);
                state.usage.forget_report();
            }
            Record::Model { provider, model } => state.chosen_model = Some((provider.clone(), model.clone())),
            Record::Request(request) => {
                state.usage.add_request(request);
                state.usage.set_truncation(replay.truncated_to.take());
            }
            Record::Beside { model, usage, .. } => state.usage.add(model, usage),
            Record::TurnEnd { end, .. } => {
                state.turns += 1;
                state.rounds.extend(end.goal.as_deref().cloned());
            }
            Record::Goal { goal: Some(_), .. } => state.rounds.clear(),
            Record::Goal { goal: None, .. } => {}
            Record::Meta(_) | Record::Pin { .. } | Record::Frame(_) | Record::Sent(_) => {}
        }
    }
    (state.history, state.prefix) = (replay.history, replay.prefix);
    (state.usage.calibration, state.next_id) = (replay.calibration, replay.next_id);
    let mut conversation = Conversation::resumed(project_state, workspace, log, state);
    close_open_calls(&mut conversation)?;
    conversation.close_unanswered()?;
    conversation.history.end_turn();
    let notices = (read.skipped > 0).then(|| notice::session_lines_skipped(read.skipped));
    Ok(ReopenedSession { conversation, notices: notices.into_iter().collect() })
}

pub fn failure(error: &LogError) -> String {
    match error {
        LogError::Busy { .. } => notice::session_busy(error),
        LogError::Io { .. } => notice::session_not_opened(error),
    }
}

fn close_open_calls(conversation: &mut Conversation) -> Result<(), LogError> {
    for call_id in conversation.history.open_calls() {
        let lost = LOST_RESULT.split_once(": ").map_or(LOST_RESULT, |(_, message)| message);
        let message = match agent_of(conversation, &call_id) {
            None => lost.to_owned(),
            Some(agent) => {
                format!(
                    "{lost}. Its agent is {agent}: Task with resume=\"{agent}\" continues where it stopped"
                )
            }
        };
        let called = conversation.history.entries().iter().find_map(|entry| match &*entry.item {
            Item::ToolCall(call) if call.id == call_id => Some(Arc::clone(&call.name)),
            _ => None,
        });
        let tool = called.unwrap_or_else(|| "unknown".into());
        let envelope = Envelope::error(ErrorCode::Interrupted, message);
        conversation.record(Item::ToolResult(ToolResult::new(call_id, tool, envelope)))?;
    }
    Ok(())
}

fn agent_of(conversation: &Conversation, call_id: &str) -> Option<String> {
    let log = conversation.log_path();
    list::made_for(&log::agents_of(log.parent()?.parent()?), &conversation.id, call_id)
}
