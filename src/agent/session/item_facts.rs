//! Facts that hang on a session's items beside the history: call ids, todo lists, when each round began. They follow
//! every rewind and revive of the history.

use std::collections::HashSet;
use std::sync::Arc;

use base::model::item::{Item, ItemId};
use context::session::undo_stack::UndoStack;

/// The facts of one session.
#[derive(Default)]
pub struct ItemFacts {
    call_ids: HashSet<Arc<str>>,
    /// Every todo list that was written and not taken back: an archived one may still be the current one.
    todo_lists: UndoStack<serde_json::Value>,
    /// When each round began, in milliseconds since the Unix epoch; archived rounds too.
    begun: UndoStack<u64>,
}

impl ItemFacts {
    /// Adds an item that was recorded at `ms`.
    pub fn add(&mut self, id: ItemId, ms: u64, item: &Item) {
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

    /// Everything from `to` on was taken back.
    pub fn rewind(&mut self, to: ItemId) {
        self.todo_lists.rewind(to);
        self.begun.rewind(to);
    }

    /// Undoes the rewind (or revive) number `rewind`, counted from 0.
    pub fn revive(&mut self, rewind: u32) {
        self.todo_lists.revive(rewind);
        self.begun.revive(rewind);
    }

    /// The current todo list.
    pub fn todos(&self) -> Option<serde_json::Value> {
        self.todo_lists.all().last().map(|(_, list)| list.clone())
    }

    /// When the round that begins with this item began, in milliseconds since the Unix epoch; `None` when it was taken
    /// back.
    pub fn begun_ms(&self, item: ItemId) -> Option<u64> {
        self.begun.all().iter().find(|(id, _)| *id == item).map(|(_, ms)| *ms)
    }

    /// The item that begins the last round.
    pub fn last_round(&self) -> Option<ItemId> {
        self.begun.all().last().map(|(id, _)| *id)
    }

    /// An id for a new call: the model's own unless this session or the same reply (`taken`) has it already. `number`
    /// makes a new one.
    pub fn unique_call_id(&self, wanted: &Arc<str>, taken: &[Arc<str>], number: u64) -> Arc<str> {
        let used = |id: &Arc<str>| self.call_ids.contains(id) || taken.contains(id);
        if !used(wanted) && !wanted.is_empty() {
            return Arc::clone(wanted);
        }
        let mut ids = (number + taken.len() as u64..).map(|number| Arc::from(format!("call_{number}")));
        ids.find(|id| !used(id)).unwrap_or_default()
    }
}
