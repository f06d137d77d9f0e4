//! What a server offers, and what a call of it returns. Plain data.

use rmcp::model::{Prompt, Resource, Tool, ToolAnnotations};
use serde_json::{Map, json};

pub const READER: &str = "read_resource";
const READER_NAMES: usize = 20;

#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub tools: Vec<Tool>,
    pub prompts: Vec<Prompt>,
    pub resources: Vec<Resource>,
    /// Whether [`READER`] is ours, not offered by the server.
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
    /// The server reports a failed call; the content says why.
    pub failed: bool,
}
