//! What a tool observed, by kind: typed in the program, stored as one flat JSON object.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::usage::Usage;

/// A file's lines, or a picture, that the model saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct View {
    pub path: Option<String>,
    pub mtime_ms: Option<u64>,
    pub start_line: Option<u64>,
    pub end_line: Option<u64>,
    pub total_lines: Option<u64>,
    pub hash: Option<String>,
    pub modified_externally: Option<bool>,
    pub encoding: Option<String>,
    pub line_ends: Option<String>,
    pub width: Option<u32>,
    pub height: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Create,
    Update,
    Remove,
    None,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    pub path: Option<String>,
    /// Missing in other agents' sessions, where a change that didn't fail was applied.
    pub applied: Option<bool>,
    pub operation: Option<Operation>,
    pub hash: Option<String>,
    pub diff: Option<String>,
    pub replacements: Option<u64>,
    pub others: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Listing {
    pub path: Option<String>,
    pub total_entries: Option<u64>,
    pub offset: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Search {
    pub query: Option<String>,
    pub with: Option<Vec<String>>,
    pub pattern: Option<String>,
    pub path: Option<String>,
    pub total: Option<u64>,
    pub total_matches: Option<u64>,
    pub total_files: Option<u64>,
    pub shown: Option<u64>,
    pub paths: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    Test,
    Build,
    Lint,
    /// The project's own code was run.
    Run,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// As people call it, such as `cargo test`.
    pub name: String,
    pub kind: CheckKind,
    /// What it is limited to: files, packages, filters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Whether the command's exit code is that of the check, because nothing runs after it.
    pub decides: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Command {
    pub id: Option<u32>,
    pub command: Option<String>,
    pub job: Option<u32>,
    pub exit_code: Option<i64>,
    pub timed_out: Option<bool>,
    pub cwd: Option<String>,
    pub duration_ms: Option<u64>,
    pub output_bytes: Option<u64>,
    /// Set if the output is only lines of one file.
    pub view: Option<Box<View>>,
    pub running: Option<bool>,
    pub full_output_path: Option<String>,
    pub truncated: Option<bool>,
    pub output_lines: Option<u64>,
    /// Files of the workspace that it changed, if worth listing.
    pub changed: Option<Vec<String>>,
    /// Files seen before that it changed by more than the answer shows.
    pub outdated: Option<Vec<String>>,
    pub check: Option<Check>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoStatus {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Todo {
    pub content: String,
    pub status: TodoStatus,
}

impl Todo {
    pub fn is_open(&self) -> bool {
        matches!(self.status, TodoStatus::Pending | TodoStatus::InProgress)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Todos {
    pub todos: Option<Vec<Todo>>,
    pub recap: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answers {
    pub replies: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Recalled {
    pub id: Option<u64>,
    pub offset: Option<u64>,
    pub total_bytes: Option<u64>,
    pub end_offset: Option<u64>,
    pub query: Option<String>,
    pub hits: Option<Vec<Value>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    pub id: Option<String>,
    pub path: Option<String>,
    pub title: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub content: Option<String>,
    pub total: Option<u64>,
    pub ids: Option<Vec<String>>,
}

/// A sub-agent's work, or a skill's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Delegated {
    pub agent: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub steps: Option<u64>,
    pub window_tokens: Option<u64>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
    pub query: Option<String>,
    pub allowed_tools: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Web {
    pub url: Option<String>,
    pub redirect: Option<String>,
    pub model: Option<String>,
    pub usage: Option<Usage>,
}

/// The tool's name determines the variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Observation {
    Read(View),
    #[serde(alias = "MultiEdit")]
    Edit(Change),
    Write(Change),
    #[serde(rename = "LS")]
    Listing(Listing),
    #[serde(rename = "Grep", alias = "Glob", alias = "Locate", alias = "Symbols")]
    Search(Search),
    #[serde(rename = "Bash", alias = "Job")]
    Command(Command),
    #[serde(rename = "TodoWrite")]
    Todos(Todos),
    #[serde(rename = "AskUser")]
    Answers(Answers),
    Recall(Recalled),
    Note(Noted),
    Task(Delegated),
    Skill(Delegated),
    #[serde(rename = "WebFetch", alias = "WebSearch")]
    Web(Web),
    /// An unknown tool or damaged facts; all are in [`Facts::more`](super::facts::Facts).
    #[default]
    Other,
}

impl Observation {
    pub(super) fn read(tool: &str, facts: &Map<String, Value>) -> Option<Self> {
        let tool = match tool {
            "MoreTools" if ["url", "redirect", "usage"].iter().any(|key| facts.contains_key(*key)) => {
                "WebFetch"
            }
            "MoreTools" => "Symbols",
            tool => tool,
        };
        serde_json::from_value(json!({tool: facts})).ok()
    }

    pub(super) fn stored(&self) -> (String, Map<String, Value>) {
        let Ok(Value::Object(stored)) = serde_json::to_value(self) else { return Default::default() };
        let Some((tool, Value::Object(mut facts))) = stored.into_iter().next() else {
            return Default::default();
        };
        if let Some(Value::Object(view)) = facts.get_mut("view") {
            view.retain(|_, value| !value.is_null());
        }
        facts.retain(|_, value| !value.is_null());
        (tool, facts)
    }
}
