//! A running sub-agent's line in its parent's transcript, and what it read and changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::model::facts::Touch;
use base::protocol::event::Event;
use base::text::{human_tokens, plural};

#[derive(Default)]
pub struct AgentProgress {
    steps: usize,
    tokens: u64,
    doing: String,
    titles: BTreeMap<Arc<str>, String>,
    read: BTreeMap<String, u64>,
    changed: BTreeSet<String>,
}

impl AgentProgress {
    pub fn take(&mut self, event: &Event) -> bool {
        match event {
            Event::ToolStarted { call_id, title, .. } => {
                self.titles.insert(Arc::clone(call_id), title.clone());
                self.doing.clone_from(title);
            }
            Event::ToolDone { id, result } => {
                self.titles.remove(&result.call_id);
                match result.envelope.data.touched() {
                    _ if result.envelope.error.is_some() => {}
                    Some((path, Touch::Read)) => {
                        self.read.entry(path.to_owned()).or_insert(id.0);
                    }
                    Some((path, Touch::Created | Touch::Written | Touch::Edited)) => {
                        self.changed.insert(path.to_owned());
                    }
                    _ => {}
                }
                self.doing = self.titles.values().next().cloned().unwrap_or_else(|| "thinking".to_owned());
            }
            Event::Window(window) => {
                self.steps += 1;
                self.tokens = window.used_tokens;
            }
            _ => return false,
        }
        true
    }

    /// `explore: 4 requests · 12.3k tokens · Read src/a.rs`.
    pub fn line(&self, kind: &str) -> String {
        let steps = plural(self.steps, "request");
        format!("{kind}: {steps} · {} tokens · {}", human_tokens(self.tokens), self.doing)
    }

    /// The files it read, each with the item that contains it, and the files it changed.
    pub fn files(self) -> (Vec<(String, u64)>, Vec<String>) {
        (self.read.into_iter().collect(), self.changed.into_iter().collect())
    }
}
