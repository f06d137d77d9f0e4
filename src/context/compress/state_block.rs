//! The state block: the facts of archived rounds, made without any model and carried through every later compaction.
//! Beside a summary it is the proof; without one it is the fallback.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::text;
use crate::model::envelope::Status;
use crate::model::item::{Item, ToolResult};

/// Characters of one user request that the block keeps word for word; a pasted file is not a request.
const REQUEST_CHARS: usize = 1_000;
/// Failed commands, notes and files named; older ones are counted.
const FAILED: usize = 12;
const FILES: usize = 60;

/// What happened to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFact {
    #[serde(default)]
    pub read: bool,
    #[serde(default)]
    pub created: bool,
    #[serde(default)]
    pub edited: u32,
    /// Content hash as last seen, when known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// The facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateBlock {
    pub requests: Vec<String>,
    pub files: BTreeMap<String, FileFact>,
    /// Command and exit code.
    pub failed: Vec<(String, i64)>,
    /// Open todos as they stood.
    #[serde(default)]
    pub todos: Vec<String>,
    /// The agent's own closing words of each archived turn, one line each.
    #[serde(default)]
    pub outcomes: Vec<String>,
}

impl StateBlock {
    /// The facts of `items`, on top of those of an earlier summary among them.
    pub fn gather<'a>(items: impl IntoIterator<Item = &'a Item>) -> Self {
        let mut block = Self::default();
        let mut last_said: Option<&str> = None;
        for item in items {
            match item {
                Item::Summary(summary) => {
                    if let Ok(earlier) = serde_json::from_value::<Self>(summary.state.clone()) {
                        block = earlier;
                    }
                }
                Item::User(message) => {
                    block.close_turn(last_said.take());
                    block.requests.push(text::elide(message.text.trim(), REQUEST_CHARS));
                }
                Item::Assistant { text } => last_said = Some(text),
                Item::ToolResult(result) => block.take_result(result),
                Item::Reasoning(_) | Item::ToolCall(_) => {}
            }
        }
        block.close_turn(last_said);
        block
    }

    fn close_turn(&mut self, said: Option<&str>) {
        if let Some(said) = said {
            self.outcomes.push(text::one_line(said, 200));
        }
    }

    fn take_result(&mut self, result: &ToolResult) {
        let data = &result.envelope.data;
        let path = data.get("path").and_then(Value::as_str);
        let done = result.envelope.status != Status::Error;
        match (&*result.tool, path) {
            ("Read", Some(path)) if done => self.file(path, data).read = true,
            ("Edit" | "MultiEdit", Some(path)) if done => self.file(path, data).edited += 1,
            ("Write", Some(path)) if done => {
                let created = data.get("operation").and_then(Value::as_str) == Some("create");
                let fact = self.file(path, data);
                fact.created |= created;
                fact.edited += u32::from(!created);
            }
            ("Bash", _) => {
                let exit = data.get("exit_code").and_then(Value::as_i64).unwrap_or(0);
                if let Some(command) = data.get("command").and_then(Value::as_str)
                    && exit != 0
                {
                    let command = text::one_line(command, 160);
                    self.failed.retain(|(known, _)| *known != command);
                    self.failed.push((command, exit));
                }
            }
            ("TodoWrite", _) => {
                if let Some(todos) = data.get("todos").and_then(Value::as_array) {
                    self.todos = todos
                        .iter()
                        .filter(|todo| matches!(todo["status"].as_str(), Some("pending" | "in_progress")))
                        .filter_map(|todo| todo["content"].as_str())
                        .map(|content| text::one_line(content, 120))
                        .collect();
                }
            }
            _ => {}
        }
    }

    fn file(&mut self, path: &str, data: &serde_json::Map<String, Value>) -> &mut FileFact {
        let fact = self.files.entry(path.to_owned()).or_default();
        if let Some(hash) = data.get("hash").and_then(Value::as_str) {
            fact.hash = Some(hash.to_owned());
        }
        fact
    }

    /// The block as the model reads it.
    pub fn render(&self) -> String {
        let mut out = String::from("User requests, word for word:\n");
        for (index, request) in self.requests.iter().enumerate() {
            out.push_str(&format!("{}. {request}\n", index + 1));
            if let Some(outcome) = self.outcomes.get(index) {
                out.push_str(&format!("   → {outcome}\n"));
            }
        }
        let named = |wanted: fn(&FileFact) -> bool| -> String {
            let names: Vec<&str> =
                self.files.iter().filter(|(_, fact)| wanted(fact)).map(|(path, _)| path.as_str()).collect();
            let more = names.len().saturating_sub(FILES);
            let mut list = names.into_iter().take(FILES).collect::<Vec<_>>().join(", ");
            if more > 0 {
                list.push_str(&format!(" and {more} more"));
            }
            list
        };
        let changed = |fact: &FileFact| fact.created || fact.edited > 0;
        let lists = [
            ("Files created", named(|fact| fact.created)),
            ("Files edited", named(|fact| fact.edited > 0 && !fact.created)),
            ("Files only read", named(|fact| fact.read && !fact.created && fact.edited == 0)),
        ];
        debug_assert!(self.files.values().all(|fact| changed(fact) || fact.read));
        for (label, list) in lists {
            if !list.is_empty() {
                out.push_str(&format!("{label}: {list}\n"));
            }
        }
        if !self.failed.is_empty() {
            out.push_str("Commands that failed:\n");
            for (command, exit) in self.failed.iter().rev().take(FAILED).rev() {
                out.push_str(&format!("- `{command}` (exit {exit})\n"));
            }
        }
        if !self.todos.is_empty() {
            out.push_str(&format!("Open todos: {}\n", self.todos.join("; ")));
        }
        out
    }
}
