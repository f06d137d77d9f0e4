//! What a server offers. Plain data, kept between sessions as far as it is told to the model in advance.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The name of the tool that reads resources.
pub const READER: &str = "read_resource";
/// Resources that it names.
const READER_NAMES: usize = 20;

/// All that a server offers.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    pub tools: Vec<RemoteTool>,
    pub prompts: Vec<RemotePrompt>,
    pub resources: Vec<RemoteResource>,
}

/// A tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemoteTool {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(rename = "inputSchema", default)]
    pub schema: Value,
    #[serde(default)]
    annotations: Annotations,
    /// It is ours, not the server's.
    #[serde(skip)]
    pub is_reader: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Annotations {
    #[serde(rename = "readOnlyHint", default)]
    read_only: Option<bool>,
}

impl RemoteTool {
    /// What a model reads a server's resources with; those it lists are named.
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

    /// Whether the server says that it changes nothing.
    pub fn reads(&self) -> bool {
        self.annotations.read_only.unwrap_or(false)
    }
}

/// A prompt that the server has ready.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemotePrompt {
    pub name: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub arguments: Vec<PromptArgument>,
}

/// What it wants to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PromptArgument {
    pub name: String,
    #[serde(default)]
    pub required: bool,
}

/// Something that can be read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemoteResource {
    pub uri: String,
    pub name: String,
    #[serde(default)]
    pub description: String,
}

/// A part of what a call gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    Text(String),
    /// Bytes of this media type: pictures, sound, files.
    Bytes {
        media_type: String,
        data: Vec<u8>,
    },
}

/// What a call gave.
#[derive(Clone, Debug, Default)]
pub struct CallResult {
    pub content: Vec<Content>,
    /// The server says that the call failed; the content says why.
    pub failed: bool,
}
