//! The state block: the facts of archived rounds, made without any model and carried whole through every later
//! compaction. Beside a summary it is the proof; without one it is the fallback. What is *shown* of it is bounded; the
//! person's own words are the last thing to be shortened, and never without a pointer to the original.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::text;
use crate::context::tokens::estimate::estimate;
use crate::model::envelope::Status;
use crate::model::item::{Item, ItemId, ToolResult};

/// Characters of one user request that the block keeps word for word; a pasted file is not a request.
const REQUEST_CHARS: usize = 4_000;
/// Characters kept of a command, a todo, a note.
const LINE_CHARS: usize = 300;

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
    /// The item of each request.
    #[serde(default)]
    pub request_ids: Vec<ItemId>,
    pub files: BTreeMap<String, FileFact>,
    /// Command and exit code.
    pub failed: Vec<(String, i64)>,
    /// Open todos as they stood.
    #[serde(default)]
    pub todos: Vec<String>,
    /// Notes that were taken and questions that the user decided.
    #[serde(default)]
    pub notes: Vec<String>,
    /// The agent's own closing words of each archived turn, one line each; empty where there were none.
    #[serde(default)]
    pub outcomes: Vec<String>,
    /// Verified summaries by a model, oldest first; older ones are reduced (see `levels`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
}

impl StateBlock {
    /// The facts of `items`, on top of those of an earlier summary among them.
    pub fn gather<'a>(items: impl IntoIterator<Item = &'a Item>) -> Self {
        Self::gather_numbered(items.into_iter().map(|item| (ItemId(0), item)))
    }

    /// The same of items whose numbers are known: what is shortened then points to its original.
    pub fn gather_numbered<'a>(items: impl IntoIterator<Item = (ItemId, &'a Item)>) -> Self {
        let mut block = Self::default();
        let mut last_said: Option<&str> = None;
        for (id, item) in items {
            match item {
                Item::Summary(summary) => {
                    if let Ok(earlier) = serde_json::from_value::<Self>(summary.state.clone()) {
                        block = earlier;
                    }
                }
                Item::User(message) => {
                    block.close_turn(last_said.take());
                    block.requests.push(kept_words(message.text.trim(), id));
                    block.request_ids.resize(block.requests.len() - 1, ItemId(0));
                    block.request_ids.push(id);
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
        if let (Some(said), Some(turn)) = (said, self.requests.len().checked_sub(1)) {
            self.outcomes.resize(turn + 1, String::new());
            self.outcomes[turn] = text::one_line(said, 200);
        }
    }

    fn take_result(&mut self, result: &ToolResult) {
        let data = &result.envelope.data;
        let path = data.get("path").and_then(Value::as_str);
        let done = result.envelope.status != Status::Error;
        match (&*result.tool, path) {
            ("Read", Some(path)) if done => self.file(path, data).read = true,
            // A change that was not made has no effect to remember.
            ("Edit" | "MultiEdit" | "Write", Some(_)) if data.get("applied") == Some(&Value::Bool(false)) => {
            }
            ("Edit" | "MultiEdit", Some(path)) if done => self.file(path, data).edited += 1,
            ("Write", Some(path)) if done => {
                let created = data.get("operation").and_then(Value::as_str) == Some("create");
                let fact = self.file(path, data);
                fact.created |= created;
                fact.edited += u32::from(!created);
            }
            ("Bash", _) => self.take_command(data),
            ("TodoWrite", _) => {
                if let Some(todos) = data.get("todos").and_then(Value::as_array) {
                    self.todos = todos
                        .iter()
                        .filter(|todo| matches!(todo["status"].as_str(), Some("pending" | "in_progress")))
                        .filter_map(|todo| todo["content"].as_str())
                        .map(|content| text::one_line(content, LINE_CHARS))
                        .collect();
                }
            }
            ("AskUser", _) if done => {
                let decided = result.envelope.body.replace("\nA: ", " → ").replace("Q: ", "");
                self.notes.extend(decided.lines().map(|line| text::one_line(line, LINE_CHARS)));
            }
            ("Note", _) if done => {
                let word = |key: &str| data.get(key).and_then(Value::as_str);
                if let Some(title) = word("title") {
                    let kind = word("type").unwrap_or("note");
                    let said = word("content").map(|said| format!(": {said}")).unwrap_or_default();
                    let note = text::one_line(&format!("{kind} {title}{said}"), LINE_CHARS);
                    if !self.notes.contains(&note) {
                        self.notes.push(note);
                    }
                }
            }
            _ => {}
        }
    }

    fn take_command(&mut self, data: &serde_json::Map<String, Value>) {
        if let Some(view) = data.get("view").and_then(Value::as_object)
            && let Some(path) = view.get("path").and_then(Value::as_str)
        {
            self.file(path, view).read = true;
        }
        let exit = data.get("exit_code").and_then(Value::as_i64).unwrap_or(0);
        if let Some(command) = data.get("command").and_then(Value::as_str)
            && exit != 0
        {
            let command = text::one_line(command, LINE_CHARS);
            self.failed.retain(|(known, _)| *known != command);
            self.failed.push((command, exit));
        }
    }

    fn file(&mut self, path: &str, data: &serde_json::Map<String, Value>) -> &mut FileFact {
        let fact = self.files.entry(path.to_owned()).or_default();
        if let Some(hash) = data.get("hash").and_then(Value::as_str) {
            fact.hash = Some(hash.to_owned());
        }
        fact
    }

    /// The whole block as the model reads it.
    pub fn render(&self) -> String {
        self.render_cut(&CUTS[0])
    }

    /// The block as the model reads it, in about `max_tokens` if that can be: first the agent's own words go, then files
    /// that were only read, older failures and notes, hashes; the user's words are shortened last.
    pub fn render_within(&self, max_tokens: u64) -> String {
        let mut rendered = String::new();
        for cut in &CUTS {
            rendered = self.render_cut(cut);
            if u64::from(estimate(&rendered)) <= max_tokens {
                break;
            }
        }
        rendered
    }

    fn render_cut(&self, cut: &Cut) -> String {
        let mut out = String::from("User requests, word for word:\n");
        let skipped = self.requests.len().saturating_sub(cut.requests);
        if skipped > 0 {
            out.push_str(&format!("({skipped} earlier ones: Recall {{\"query\":\"…\"}} finds them)\n"));
        }
        for (index, request) in self.requests.iter().enumerate().skip(skipped) {
            let newest = index + 1 == self.requests.len();
            let limit = if newest { cut.request_chars.saturating_mul(3) } else { cut.request_chars };
            out.push_str(&format!("{}. ", index + 1));
            match self.request_ids.get(index) {
                Some(id) if id.0 > 0 && request.chars().count() > limit => {
                    let head: String = request.chars().take(limit).collect();
                    out.push_str(&format!("{head}… [Recall {{\"id\":{}}} gives all]\n", id.0));
                }
                _ => out.push_str(&format!("{request}\n")),
            }
            let recent = self.requests.len() - index <= cut.outcomes;
            if let Some(outcome) = self.outcomes.get(index).filter(|said| recent && !said.is_empty()) {
                out.push_str(&format!("   → {outcome}\n"));
            }
        }
        if !self.todos.is_empty() {
            out.push_str(&format!("Open todos: {}\n", self.todos.join("; ")));
        }
        self.list_files(&mut out, "Files created", cut.changed, cut.hashes, |fact| fact.created);
        self.list_files(&mut out, "Files edited", cut.changed, cut.hashes, |fact| {
            fact.edited > 0 && !fact.created
        });
        self.list_files(&mut out, "Files only read", cut.read, cut.hashes, |fact| {
            !fact.created && fact.edited == 0
        });
        list(&mut out, "Commands that failed", cut.lines, &self.failed, |(command, exit)| {
            format!("`{command}` (exit {exit})")
        });
        list(&mut out, "Notes and decisions", cut.lines, &self.notes, Clone::clone);
        out
    }

    fn list_files(
        &self,
        out: &mut String,
        label: &str,
        most: usize,
        hashes: bool,
        wanted: impl Fn(&FileFact) -> bool,
    ) {
        let named: Vec<String> = self
            .files
            .iter()
            .filter(|(_, fact)| wanted(fact))
            .map(|(path, fact)| match &fact.hash {
                Some(hash) if hashes => format!("{path} ({})", hash.get(..8).unwrap_or(hash)),
                _ => path.clone(),
            })
            .collect();
        if named.is_empty() {
            return;
        }
        let more = named.len().saturating_sub(most);
        let shown = named[..named.len() - more].join(", ");
        let rest = if more > 0 {
            format!(" and {more} more (Recall with a query finds them)")
        } else {
            String::new()
        };
        out.push_str(&format!("{label}: {shown}{rest}\n"));
    }
}

/// The newest `most` of a list, one a line.
fn list<T>(out: &mut String, label: &str, most: usize, items: &[T], show: impl Fn(&T) -> String) {
    if items.is_empty() {
        return;
    }
    let skipped = items.len().saturating_sub(most);
    out.push_str(&format!("{label}:\n"));
    if skipped > 0 {
        out.push_str(&format!("- ({skipped} older; Recall with a query finds them)\n"));
    }
    for item in &items[skipped..] {
        out.push_str(&format!("- {}\n", show(item)));
    }
}

/// How much of each kind of fact is shown.
struct Cut {
    outcomes: usize,
    read: usize,
    lines: usize,
    changed: usize,
    hashes: bool,
    request_chars: usize,
    requests: usize,
}

const ALL: usize = usize::MAX;

/// From everything to the least, in the order in which facts are worth their place.
const CUTS: [Cut; 9] = [
    Cut {
        outcomes: ALL,
        read: ALL,
        lines: ALL,
        changed: ALL,
        hashes: true,
        request_chars: ALL,
        requests: ALL,
    },
    Cut { outcomes: 3, read: ALL, lines: ALL, changed: ALL, hashes: true, request_chars: ALL, requests: ALL },
    Cut { outcomes: 1, read: 30, lines: 30, changed: ALL, hashes: true, request_chars: ALL, requests: ALL },
    Cut { outcomes: 0, read: 10, lines: 15, changed: ALL, hashes: false, request_chars: ALL, requests: ALL },
    Cut { outcomes: 0, read: 0, lines: 6, changed: 40, hashes: false, request_chars: ALL, requests: ALL },
    Cut { outcomes: 0, read: 0, lines: 3, changed: 12, hashes: false, request_chars: 600, requests: ALL },
    Cut { outcomes: 0, read: 0, lines: 2, changed: 8, hashes: false, request_chars: 160, requests: ALL },
    Cut { outcomes: 0, read: 0, lines: 2, changed: 6, hashes: false, request_chars: 80, requests: 20 },
    Cut { outcomes: 0, read: 0, lines: 1, changed: 4, hashes: false, request_chars: 60, requests: 6 },
];

/// A request as it is kept: whole, or both ends of a very long one with the way to the rest.
fn kept_words(request: &str, id: ItemId) -> String {
    if request.chars().count() <= REQUEST_CHARS {
        return request.to_owned();
    }
    let head = text::floor_boundary(request, REQUEST_CHARS * 2 / 3);
    let tail = text::ceil_boundary(request, request.len() - REQUEST_CHARS / 3);
    format!(
        "{}\n[… {} left out; Recall {{\"id\":{}}} gives all …]\n{}",
        &request[..head],
        text::human_bytes((tail - head) as u64),
        id.0,
        &request[tail..]
    )
}
