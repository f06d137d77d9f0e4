//! Opening a session again: everything that the log tells goes back to where it was. Calls that were cut off get a
//! result, so that the next request is sound.

use std::path::Path;
use std::sync::Arc;

use super::conversation::Conversation;
use crate::context::history::normalize::LOST_RESULT;
use crate::context::replay::session_replay::SessionReplay;
use crate::model::envelope::{Envelope, ErrorCode};
use crate::model::item::{Item, ItemId, ToolResult};
use crate::session::log::{LogError, SessionLog};
use crate::session::reader;
use crate::session::record::Record;

/// A session that was read from disk.
pub struct ReopenedSession {
    pub conversation: Conversation,
    /// The last todo list, as TodoWrite recorded it.
    pub todos: Option<serde_json::Value>,
    /// Provider and model that the user chose last, with `/model`.
    pub chosen_model: Option<(String, String)>,
    pub notices: Vec<String>,
}

impl Conversation {
    /// Rebuilds a session from its log. Calls that never got a result get one now, in the log too.
    ///
    /// # Errors
    /// When the log cannot be read or another process has it open.
    pub fn restore(project_state: &Path, workspace: &Path, path: &Path) -> Result<ReopenedSession, LogError> {
        let opened = SessionLog::open(path)?;
        let read = reader::read(path).map_err(|source| LogError::Io {
            path: path.to_owned(),
            action: "read",
            source,
        })?;
        let mut conversation = Self::new(project_state, workspace);
        conversation.id = opened.id().to_owned();
        conversation.log = Some(opened);
        let mut chosen_model = None;
        let mut notices = Vec::new();
        let mut logbook = SessionReplay::default();
        for record in &read.records {
            if !logbook.apply(record) {
                continue;
            }
            match record {
                Record::Item(record) => conversation.note_item(record.id, record.ms, &record.item),
                // What the server reported last was the size of another request.
                Record::Forms { .. } | Record::Archive { .. } | Record::Unarchive {} => {
                    conversation.last_reported = None;
                }
                Record::Rewind { to } => {
                    conversation.todo_lists.rewind(*to);
                    conversation.begun.rewind(*to);
                    conversation.last_reported = None;
                }
                Record::Revive { rewind } => {
                    conversation.todo_lists.revive(*rewind);
                    conversation.begun.revive(*rewind);
                    conversation.last_reported = None;
                }
                Record::Model { provider, model } => chosen_model = Some((provider.clone(), model.clone())),
                Record::Request(request) => {
                    conversation.take_request(request);
                    conversation.note_report(logbook.truncated_to.take());
                }
                Record::Beside { model, usage, .. } => conversation.add_usage(model, usage),
                Record::TurnEnd { .. } => conversation.turns += 1,
                Record::Meta(_) | Record::Pin { .. } | Record::Frame(_) | Record::Sent(_) => {}
            }
        }
        (conversation.history, conversation.prefix) = (logbook.history, logbook.prefix);
        (conversation.calibration, conversation.next_id) = (logbook.calibration, logbook.next_id);
        if read.skipped > 0 {
            notices.push(format!(
                "{} of the session log could not be read and {} left out; the rest is complete.",
                crate::base::text::plural(read.skipped, "line"),
                if read.skipped == 1 { "was" } else { "were" }
            ));
        }
        conversation.close_open_calls()?;
        conversation.history.end_turn();
        let todos = conversation.todos();
        Ok(ReopenedSession { conversation, todos, chosen_model, notices })
    }

    /// What hangs on an item beside the history.
    pub(super) fn note_item(&mut self, id: ItemId, ms: u64, item: &Item) {
        if item.begins_round() {
            self.begun.push(id, ms);
        }
        match item {
            Item::ToolCall(call) => {
                self.call_ids.insert(Arc::clone(&call.id));
            }
            Item::ToolResult(result) if &*result.tool == "TodoWrite" => {
                if let Some(list) = result.envelope.data.get("todos") {
                    self.todo_lists.push(id, list.clone());
                }
            }
            _ => {}
        }
    }

    fn close_open_calls(&mut self) -> Result<(), LogError> {
        for call_id in self.history.open_calls() {
            let message = LOST_RESULT.split_once(": ").map_or(LOST_RESULT, |(_, message)| message);
            let called = self.history.entries().iter().find_map(|entry| match &*entry.item {
                Item::ToolCall(call) if call.id == call_id => Some(Arc::clone(&call.name)),
                _ => None,
            });
            self.record(Item::ToolResult(ToolResult {
                call_id,
                tool: called.unwrap_or_else(|| "unknown".into()),
                envelope: Envelope::error(ErrorCode::Interrupted, message),
            }))?;
        }
        Ok(())
    }
}
