//! What a server offers. Plain data; the part listed to the model in advance is kept between sessions.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub const READER: &str = "read_resource";
const READER_NAMES: usize = 20;

#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub tools: Vec<RemoteTool>,
    pub prompts: Vec<RemotePrompt>,
    pub resources: Vec<RemoteResource>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemoteTool {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(rename = "inputSchema", default)]
    pub schema: Value,
    #[serde(default)]
    annotations: Annotations,
    /// Added by us, not offered by the server.
    #[serde(skip)]
    pub is_reader: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Annotations {
    #[serde(rename = "readOnlyHint", default)]
    read_only: Option<bool>,
}

impl RemoteTool {
    /// The tool for reading a server's resources; its description names some of them.
    pub fn reader(resources: &[RemoteResource]) -> Self {
        let names: Vec<String> =
            resources.iter().take(READER_NAMES).map(|one| format!("{} ({})", one.uri, one.name)).collect();
        let more = resources.len().saturating_sub(READER_NAMES);
        let more = if more > 0 { format!("; {more} more") } else { String::new() };
        Self {
            name: READER.to_owned(),
            description: format!(
                "Reads a resource of this server by its URI. Listed: {}{more}",
                names.join("; ")
            ),
            schema: json!({"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}),
            annotations: Annotations { read_only: Some(true) },
            is_reader: true,
        }
    }

    /// Whether the server declares the tool read-only.
    pub fn reads(&self) -> bool {
        self.annotations.read_only.unwrap_or(false)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemotePrompt {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PromptArgument {
    pub name: String,
    #[serde(default)]
    pub required: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemoteResource {
    pub uri: String,
    pub name: String,
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
