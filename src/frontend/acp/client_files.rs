//! Reads and writes files through the editor of one session, as far as the client offers it.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    FileSystemCapabilities, ReadTextFileRequest, ReadTextFileResponse, SessionId, WriteTextFileRequest,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::connection::Client;

/// After this, the file counts as not open in the client, and a write as failed.
const TIMEOUT: Duration = Duration::from_secs(10);

pub struct ClientFiles {
    client: Client,
    offered: FileSystemCapabilities,
    pub session: OnceLock<SessionId>,
}

impl ClientFiles {
    pub fn new(client: Client, offered: FileSystemCapabilities) -> Self {
        Self { client, offered, session: OnceLock::new() }
    }

    /// Returns `None` if the client can't.
    pub async fn read(&self, path: &Path) -> Option<String> {
        let session = self.session.get().filter(|_| self.offered.read_text_file)?;
        let params = ReadTextFileRequest::new(session.clone(), path);
        let answer = self.client.ask::<ReadTextFileResponse>("fs/read_text_file", json!(params));
        Some(timeout(TIMEOUT, answer).await.ok()?.ok()?.content)
    }

    /// Returns `false` if the client doesn't offer it.
    pub async fn write(&self, path: &Path, text: &str) -> Result<bool, String> {
        let Some(session) = self.session.get().filter(|_| self.offered.write_text_file) else {
            return Ok(false);
        };
        let params = WriteTextFileRequest::new(session.clone(), path, text);
        // Some clients answer `null`, as in an earlier version of the protocol.
        let answer = self.client.ask::<Value>("fs/write_text_file", json!(params));
        match timeout(TIMEOUT, answer).await {
            Ok(Ok(_)) => Ok(true),
            Ok(Err(error)) => Err(error.message),
            Err(_) => Err(format!("no answer within {} s", TIMEOUT.as_secs())),
        }
    }
}
