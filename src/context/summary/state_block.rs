//! The state block: the facts of archived rounds, gathered without a model and carried in full through every
//! later compaction. Only what is *shown* of it is limited; the user's words are shortened last, and always with a
//! pointer to the original.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::compress::cut;
use crate::tokens::estimate::estimate;
use base::model::envelope::Status;
use base::model::facts::Touch;
use base::model::item::{Item, ItemId, ToolResult};
use base::model::observation::{Command, Noted, Observation, Todos, View};
use base::protocol::goal::Goal;
use base::text;

/// Characters of a user request kept verbatim; more is a pasted file.
const REQUEST_CHARS: usize = 4_000;
const LINE_CHARS: usize = 300;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFact {
    #[serde(default)]
    pub read: bool,
    #[serde(default)]
    pub created: bool,
    #[serde(default)]
    pub edited: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateBlock {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
    pub requests: Vec<String>,
    #[serde(default)]
    pub request_ids: Vec<ItemId>,
    pub files: BTreeMap<String, FileFact>,
    pub failed: Vec<(String, i64)>,
    #[serde(default)]
    pub todos: Vec<String>,
    #[serde(default)]
    pub notes: Vec<String>,
    /// The agent's closing words of each archived turn, one line each; empty if there were none.
    #[serde(default)]
    pub outcomes: Vec<String>,
    /// Verified summaries by a model, oldest first; older ones are reduced (see `merge`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
}

impl StateBlock {
    /// The facts of `items`, including those of an earlier summary. Shortened facts name their item.
    pub fn gather<'a>(items: impl IntoIterator<Item = (ItemId, &'a Item)>) -> Self {
        let mut block = Self::default();
        let mut last_words: Option<&str> = None;
        for (id, item) in items {
            match item {
                Item::Summary(summary) => {
                    if let Ok(earlier) = serde_json::from_value::<Self>(summary.state.clone()) {
                        block = earlier;
                    }
                }
                Item::User(message) => {
                    block.close_turn(last_words.take());
                    block.requests.push(kept_words(message.text.trim(), id));
                    block.request_ids.resize(block.requests.len() - 1, ItemId(0));
                    block.request_ids.push(id);
                }
                Item::Assistant { text, .. } => last_words = Some(text),
                Item::ToolResult(result) => block.add_result(result),
                Item::Reasoning(_) | Item::ToolCall(_) | Item::Reminder(_) | Item::Image(_) => {}
            }
        }
        block.close_turn(last_words);
        block
    }

    fn close_turn(&mut self, words: Option<&str>) {
        if let (Some(words), Some(turn)) = (words, self.requests.len().checked_sub(1)) {
            self.outcomes.resize(turn + 1, String::new());
            self.outcomes[turn] = text::one_line(words, 200);
        }
    }

    fn add_result(&mut self, result: &ToolResult) {
        let data = &result.envelope.data;
        let done = result.envelope.status != Status::Error;
        match &*data.observation {
            Observation::Read(view) if done => self.view(view),
            Observation::Edit(change) | Observation::Write(change) if done => {
                if let Some((path, touch)) = data.touched().filter(|(_, touch)| *touch != Touch::Unchanged) {
                    let fact = self.file(path, change.hash.as_deref());
                    match touch {
                        Touch::Created => fact.created = true,
                        _ => fact.edited += 1,
                    }
                }
            }
            Observation::Command(command) => self.add_command(command),
            Observation::Todos(Todos { todos: Some(todos), .. }) => {
                let open = todos.iter().filter(|todo| todo.is_open());
                self.todos = open.map(|todo| text::one_line(&todo.content, LINE_CHARS)).collect();
            }
            Observation::Answers(_) if done => {
                let decided = result.envelope.body.replace("\nA: ", " → ").replace("Q: ", "");
                self.notes.extend(decided.lines().map(|line| text::one_line(line, LINE_CHARS)));
            }
            Observation::Note(Noted { title: Some(title), kind, content, .. }) if done => {
                let kind = kind.as_deref().unwrap_or("note");
                let content = content.as_ref().map(|content| format!(": {content}")).unwrap_or_default();
                let note = text::one_line(&format!("{kind} {title}{content}"), LINE_CHARS);
                if !self.notes.contains(&note) {
                    self.notes.push(note);
                }
            }
            _ => {}
        }
    }

    fn view(&mut self, view: &View) {
        if let Some(path) = &view.path {
            self.file(path, view.hash.as_deref()).read = true;
        }
    }

    fn add_command(&mut self, ran: &Command) {
        if let Some(view) = &ran.view {
            self.view(view);
        }
        let exit = ran.exit_code.unwrap_or(0);
        if let Some(command) = &ran.command
            && exit != 0
        {
            let command = text::one_line(command, LINE_CHARS);
            self.failed.retain(|(known, _)| *known != command);
            self.failed.push((command, exit));
        }
    }

    fn file(&mut self, path: &str, hash: Option<&str>) -> &mut FileFact {
        let fact = self.files.entry(path.to_owned()).or_default();
        fact.hash = hash.map(str::to_owned).or(fact.hash.take());
        fact
    }

    pub fn render(&self) -> String {
        self.render_cut(&CUTS[0])
    }

    /// Drops the agent's words first, then files only read, failures, notes and hashes; shortens the user's words last.
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
        let mut out = match &self.goal {
            Some(Goal { text, check }) => format!(
                "The goal, word for word (done when its check ends with 0):\n{text}\nIts check: {check}\n"
            ),
            None => String::new(),
        };
        out.push_str("User requests, word for word:\n");
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
                    out.push_str(&format!("{head}… [full text: Recall {{\"id\":{}}}]\n", id.0));
                }
                _ => out.push_str(&format!("{request}\n")),
            }
            let recent = self.requests.len() - index <= cut.outcomes;
            if let Some(outcome) = self.outcomes.get(index).filter(|words| recent && !words.is_empty()) {
                out.push_str(&format!("   → {outcome}\n"));
            }
        }
        if !self.todos.is_empty() {
            out.push_str(&format!("Open todos: {}\n", self.todos.join("; ")));
        }
        let changed = (cut.changed, cut.hashes);
        self.list_files(&mut out, "Files created", changed, |fact| fact.created);
        self.list_files(&mut out, "Files edited", changed, |fact| fact.edited > 0 && !fact.created);
        let read = (cut.read, cut.hashes);
        self.list_files(&mut out, "Files only read", read, |fact| !fact.created && fact.edited == 0);
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
        (most, hashes): (usize, bool),
        wanted: impl Fn(&FileFact) -> bool,
    ) {
        let files = self.files.iter().filter(|(_, fact)| wanted(fact));
        let named = files.map(|(path, fact)| match &fact.hash {
            Some(hash) if hashes => format!("{path} ({})", hash.get(..8).unwrap_or(hash)),
            _ => path.clone(),
        });
        let named: Vec<String> = named.collect();
        let shown = &named[..named.len().min(most)];
        let more = match named.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more (Recall with a query finds them)"),
        };
        if !named.is_empty() {
            out.push_str(&format!("{label}: {}{more}\n", shown.join(", ")));
        }
    }
}

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

const fn cut(
    [outcomes, read, lines, changed]: [usize; 4],
    hashes: bool,
    request_chars: usize,
    requests: usize,
) -> Cut {
    Cut { outcomes, read, lines, changed, hashes, request_chars, requests }
}

/// From everything to the least; the least valuable facts are cut first.
const CUTS: [Cut; 9] = [
    cut([ALL, ALL, ALL, ALL], true, ALL, ALL),
    cut([3, ALL, ALL, ALL], true, ALL, ALL),
    cut([1, 30, 30, ALL], true, ALL, ALL),
    cut([0, 10, 15, ALL], false, ALL, ALL),
    cut([0, 0, 6, 40], false, ALL, ALL),
    cut([0, 0, 3, 12], false, 600, ALL),
    cut([0, 0, 2, 8], false, 160, ALL),
    cut([0, 0, 2, 6], false, 80, 20),
    cut([0, 0, 1, 4], false, 60, 6),
];

/// A request as it is kept: in full, or both ends of a very long one with a pointer to the rest.
fn kept_words(request: &str, id: ItemId) -> String {
    if request.chars().count() <= REQUEST_CHARS {
        return request.to_owned();
    }
    let (head, tail, left_out) = cut::head_and_tail(request, REQUEST_CHARS);
    let left_out = text::human_bytes(left_out as u64);
    format!("{head}\n[… {left_out} left out; full text: Recall {{\"id\":{}}} …]\n{tail}", id.0)
}
