//! Reopens a session from its log. Interrupted calls get a result, so that the next request is valid.

use std::path::Path;
use std::sync::Arc;

use super::conversation::Conversation;
use base::model::envelope::{Envelope, ErrorCode};
use base::model::item::{Item, ToolResult};
use base::protocol::notice;
use context::history::normalize::LOST_RESULT;
use context::session::log::{self, LogError, SessionLog};
use context::session::record::VERSION;
use context::session::{list, reader};

pub struct ReopenedSession {
    pub conversation: Conversation,
    pub notices: Vec<String>,
}

/// Opens the log, and adds results for calls that never got one.
pub fn restore(project_state: &Path, workspace: &Path, path: &Path) -> Result<ReopenedSession, LogError> {
    let log = SessionLog::open(path)?;
    let read = reader::read(path).map_err(|source| LogError::Io {
        path: path.to_owned(),
        action: "read",
        source,
    })?;
    let mut conversation = Conversation::stored(project_state, workspace, log, &read.records);
    let mut notices = Vec::new();
    match list::meta(path) {
        None => notices.push(notice::SESSION_WITHOUT_BEGINNING.to_owned()),
        Some(meta) => {
            if meta.version > VERSION {
                notices.push(notice::session_from_newer(&meta.app));
            }
            conversation.begun = meta.begun;
        }
    }
    close_open_calls(&mut conversation)?;
    conversation.close_unanswered()?;
    conversation.state.history.end_turn();
    notices.extend((read.skipped > 0).then(|| notice::session_lines_skipped(read.skipped)));
    Ok(ReopenedSession { conversation, notices })
}

pub fn failure(error: &LogError) -> String {
    match error {
        LogError::Busy { .. } => notice::session_busy(error),
        LogError::Io { .. } => notice::session_not_opened(error),
    }
}

fn close_open_calls(conversation: &mut Conversation) -> Result<(), LogError> {
    for call_id in conversation.state.history.open_calls() {
        let lost = LOST_RESULT.split_once(": ").map_or(LOST_RESULT, |(_, message)| message);
        let message = match agent_of(conversation, &call_id) {
            None => lost.to_owned(),
            Some(agent) => {
                format!(
                    "{lost}. Its agent is {agent}: Task with resume=\"{agent}\" continues where it stopped"
                )
            }
        };
        let called = conversation.state.history.entries().iter().find_map(|entry| match &*entry.item {
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
