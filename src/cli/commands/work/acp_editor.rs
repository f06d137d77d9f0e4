//! What an editor provides to a session: its view of the files, and its MCP servers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol_schema::v1::McpServer;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;

use base::config::trusted::agent_files::AgentFile;
use frontend::acp::client_files::ClientFiles;
use tools::ports::EditorFiles;

pub fn servers(servers: &[McpServer]) -> AgentFile {
    let pairs = |list: &Value| -> Value {
        let list = list.as_array().into_iter().flatten();
        let pair = |one: &Value| Some((one["name"].as_str()?.to_owned(), one["value"].clone()));
        Value::Object(list.filter_map(pair).collect())
    };
    let entries = servers.iter().filter_map(|server| {
        let mut entry = serde_json::to_value(server).ok()?;
        for key in ["env", "headers"] {
            if entry[key].is_array() {
                entry[key] = pairs(&entry[key]);
            }
        }
        Some((entry["name"].as_str()?.to_owned(), entry))
    });
    let entries: Map<String, Value> = entries.collect();
    AgentFile { path: PathBuf::from("the editor"), text: json!({ "mcpServers": entries }).to_string() }
}

/// The client's files. Tools must call it from the blocking pool.
pub struct Editor(pub Arc<ClientFiles>);

impl EditorFiles for Editor {
    fn read(&self, path: &Path) -> Option<String> {
        Handle::current().block_on(self.0.read(path))
    }

    fn write(&self, path: &Path, text: &str) -> Result<bool, String> {
        Handle::current().block_on(self.0.write(path, text))
    }
}
