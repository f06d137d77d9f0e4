//! What a server offers, what its calls return, and what servers offered last time, so that the model can be shown names
//! without starting servers. After a change of its configuration, a server counts as unknown.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use rmcp::model::{Prompt, Resource, Tool, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};

use base::file;
use base::folder::update::update;
use base::protocol::event::CommandRow;
use base::text::one_line;

pub const READER: &str = "read_resource";
const READER_NAMES: usize = 20;
const HELP_CHARS: usize = 120;

#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub tools: Vec<Tool>,
    pub prompts: Vec<Prompt>,
    pub resources: Vec<Resource>,
    /// Whether [`READER`] is our tool and not the server's.
    has_reader: bool,
}

impl Catalog {
    /// Adds the tool for reading the server's resources; its description names some of them.
    pub fn add_reader(&mut self) {
        if self.tools.iter().any(|tool| tool.name == READER) {
            return;
        }
        let named = self.resources.iter().take(READER_NAMES);
        let names: Vec<String> = named.map(|one| format!("{} ({})", one.uri, one.name)).collect();
        let more = self.resources.len().saturating_sub(READER_NAMES);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        let about = format!("Reads a resource of this server by its URI. Listed: {}{more}", names.join("; "));
        let uri = Map::from_iter([
            ("type".to_owned(), json!("object")),
            ("properties".to_owned(), json!({"uri": {"type": "string"}})),
            ("required".to_owned(), json!(["uri"])),
        ]);
        let mut tool = Tool::new(READER, about, uri);
        tool.annotations = Some(ToolAnnotations::new().read_only(true));
        self.tools.push(tool);
        self.has_reader = true;
    }

    pub fn learned(&self) -> LearnedServer {
        let tool = |tool: &Tool| LearnedTool { name: tool.name.to_string(), reads: reads(tool) };
        let prompt = |prompt: &Prompt| {
            let args = prompt.arguments.iter().flatten().map(|argument| format!("[{}]", argument.name));
            CommandRow {
                name: prompt.name.clone(),
                args: args.collect::<Vec<_>>().join(" "),
                help: one_line(prompt.description.as_deref().unwrap_or_default(), HELP_CHARS),
            }
        };
        LearnedServer {
            tools: self.tools.iter().map(tool).collect(),
            prompts: self.prompts.iter().map(prompt).collect(),
        }
    }

    pub fn is_ours(&self, tool: &Tool) -> bool {
        self.has_reader && tool.name == READER
    }
}

pub fn reads(tool: &Tool) -> bool {
    tool.annotations.as_ref().and_then(|hints| hints.read_only_hint).unwrap_or(false)
}

#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    /// Bytes of this media type: images, audio, files.
    Bytes {
        media_type: String,
        data: Vec<u8>,
    },
}

#[derive(Clone, Debug, Default)]
pub struct CallResult {
    pub content: Vec<Content>,
    pub failed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedTool {
    pub name: String,
    pub reads: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LearnedServer {
    pub tools: Vec<LearnedTool>,
    /// Without the server's name.
    pub prompts: Vec<CommandRow>,
}

/// By the hash of the server's configuration.
type All = BTreeMap<String, LearnedServer>;

/// The file with what was learned about all servers. Methods block.
#[derive(Clone, Debug)]
pub struct Learned(PathBuf);

impl Learned {
    pub fn new(state: &Path) -> Self {
        Self(state.join("learned.json"))
    }

    pub fn read(&self) -> All {
        let bytes = file::read_own(&self.0).unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub fn write(&self, hash: &str, offers: &LearnedServer) -> io::Result<()> {
        update(&self.0, |old| {
            let mut all: All = old.and_then(|old| serde_json::from_slice(old).ok()).unwrap_or_default();
            let before = all.insert(hash.to_owned(), offers.clone());
            if before.as_ref() == Some(offers) { Ok(None) } else { Ok(Some(serde_json::to_vec(&all)?)) }
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_learn_at_once_keep_each_others_entries() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for session in 0..4 {
                let learned = Learned::new(dir.path());
                scope.spawn(move || {
                    for server in 0..10 {
                        learned.write(&format!("{session}-{server}"), &LearnedServer::default()).unwrap();
                    }
                });
            }
        });
        assert_eq!(Learned::new(dir.path()).read().len(), 40);
    }
}
