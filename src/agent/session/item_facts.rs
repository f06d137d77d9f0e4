//! Facts about a session's items that the history doesn't have: call ids, todo lists, when each round started. They
//! follow every rewind and revive.

use std::collections::HashSet;
use std::sync::Arc;

use crate::work::work_log::WorkLog;
use base::model::item::{Item, ItemId};
use base::model::observation::Todo;
use context::session::undo_stack::UndoStack;

#[derive(Default)]
pub struct ItemFacts {
    call_ids: HashSet<Arc<str>>,
    /// All todo lists that weren't rewound: an archived one may still be current.
    todo_lists: UndoStack<(ItemId, Vec<Todo>)>,
    /// When each round started, including archived ones, in milliseconds since the Unix epoch.
    begun: UndoStack<(ItemId, u64)>,
    pub work: WorkLog,
}

impl ItemFacts {
    pub fn add(&mut self, id: ItemId, ms: u64, item: &Item) {
        if item.begins_round() {
            self.begun.push(id, ms);
        }
        self.work.add(id, item);
        match item {
            Item::ToolCall(call) => {
                self.call_ids.insert(Arc::clone(&call.id));
            }
            Item::ToolResult(result) => {
                if let Some(list) = result.envelope.data.todos() {
                    self.todo_lists.push(id, list.to_vec());
                }
            }
            _ => {}
        }
    }

    pub fn rewind(&mut self, to: ItemId) {
        self.todo_lists.rewind(to);
        self.begun.rewind(to);
        self.work.rewind(to);
    }

    pub fn revive(&mut self, rewind: u32) {
        self.todo_lists.revive(rewind);
        self.begun.revive(rewind);
        self.work.revive(rewind);
    }

    pub fn todos(&self) -> Option<Vec<Todo>> {
        self.todo_lists.all().last().map(|(_, list)| list.clone())
    }

    /// When this item's round started, in milliseconds since the Unix epoch; `None` if it was rewound.
    pub fn begun_ms(&self, item: ItemId) -> Option<u64> {
        self.begun.all().iter().find(|(id, _)| *id == item).map(|(_, ms)| *ms)
    }

    pub fn last_round(&self) -> Option<ItemId> {
        self.begun.all().last().map(|(id, _)| *id)
    }

    /// Keeps the model's id unless the session or the reply (`taken`) uses it; otherwise makes one from `number` on.
    pub fn unique_call_id(&self, wanted: &Arc<str>, taken: &[Arc<str>], number: u64) -> Arc<str> {
        let used = |id: &Arc<str>| self.call_ids.contains(id) || taken.contains(id);
        if !used(wanted) && !wanted.is_empty() {
            return Arc::clone(wanted);
        }
        let mut ids = (number + taken.len() as u64..).map(|number| Arc::from(format!("call_{number}")));
        ids.find(|id| !used(id)).unwrap_or_default()
    }
}
