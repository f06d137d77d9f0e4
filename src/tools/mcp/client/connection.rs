//! A connection to a server: its catalog, and calls with a timeout that any sign of life resets.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, ClientRequest, ContentBlock, GetPromptRequestParams, PingRequest,
    ReadResourceRequestParams, ResourceContents, Tool,
};
use rmcp::service::{RunningService, ServiceError};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::error::McpError;
use super::handler::{Caller, Calls, Handler};
use crate::mcp::catalog::{CallResult, Catalog, Content, READER};
use base::process::service::Service;

const PING: Duration = Duration::from_secs(5);
/// The limit for a call, even with signs of life.
const LONGEST_CALL: Duration = Duration::from_secs(3600);

/// Dropping it closes the connection and ends the server's program.
pub struct McpConnection {
    pub(super) running: RunningService<RoleClient, Handler>,
    pub calls: Arc<Calls>,
    pub(super) service: Option<Service>,
    pub(super) call_timeout: Duration,
}

impl McpConnection {
    pub fn is_closed(&self) -> bool {
        self.running.is_closed() || self.running.peer().is_transport_closed()
    }

    pub async fn is_alive(&self) -> bool {
        let ping = self.running.peer().send_request(ClientRequest::PingRequest(PingRequest::default()));
        tokio::time::timeout(PING.min(self.call_timeout), ping).await.is_ok()
    }

    pub fn complaints(&self) -> String {
        let said = self.service.as_ref().map_or_else(String::new, Service::complaints);
        let wrote = if said.is_empty() { "" } else { "; it wrote: " };
        format!("{wrote}{said}{}", self.calls.output.stray_line())
    }

    pub fn about(&self) -> String {
        let Some(info) = self.running.peer().peer_info() else { return String::new() };
        let server = info
            .server_info
            .as_ref()
            .map(|server| format!("{}, ", format!("{} {}", server.name, server.version).trim()));
        format!("{}protocol {}", server.unwrap_or_default(), info.protocol_version.as_str())
    }

    pub async fn catalog(&self) -> Result<Catalog, McpError> {
        let peer = self.running.peer();
        let capabilities = peer.peer_info().map(|info| info.capabilities.clone()).unwrap_or_default();
        let mut catalog = Catalog::default();
        let asked = async {
            // Some servers have tools but don't declare the capability.
            match peer.list_all_tools().await {
                Ok(tools) => catalog.tools = tools,
                Err(error) if capabilities.tools.is_some() => return Err(error),
                Err(error) if error.auth_challenge().is_some() => return Err(error),
                Err(_) => {}
            }
            if capabilities.prompts.is_some() {
                catalog.prompts = peer.list_all_prompts().await?;
            }
            if capabilities.resources.is_some() {
                catalog.resources = peer.list_all_resources().await?;
                catalog.add_reader();
            }
            Ok(())
        };
        let limit = self.call_timeout;
        let asked = tokio::time::timeout(limit, asked).await.map_err(|_| self.calls.timeout(limit))?;
        asked.map_err(|error| self.calls.explain(error))?;
        Ok(catalog)
    }

    /// `ours`: the tool was added by us.
    pub async fn call(
        &self,
        tool: &Tool,
        ours: bool,
        args: Map<String, Value>,
        caller: Caller,
        cancel: &CancellationToken,
    ) -> Result<CallResult, McpError> {
        if ours {
            let uri = args.get("uri").and_then(Value::as_str);
            let uri = uri.ok_or_else(|| McpError::Refused(format!("{READER} needs a uri")))?;
            return Ok(CallResult { content: self.read(uri, cancel).await?, failed: false });
        }
        let params = CallToolRequestParams::new(tool.name.clone()).with_arguments(args);
        let result = self.limited(self.running.call_tool(params), caller, cancel).await?;
        let mut content: Vec<Content> = result.content.iter().filter_map(content_of).collect();
        // Following the protocol's advice, many servers also send this as text.
        if let Some(structured) = result.structured_content.filter(|_| content.is_empty()) {
            content.push(Content::Text(structured.to_string()));
        }
        Ok(CallResult { content, failed: result.is_error.unwrap_or(false) })
    }

    pub async fn read(&self, uri: &str, cancel: &CancellationToken) -> Result<Vec<Content>, McpError> {
        Ok(self.resource(uri, cancel).await?.iter().filter_map(resource_of).collect())
    }

    pub async fn resource(
        &self,
        uri: &str,
        cancel: &CancellationToken,
    ) -> Result<Vec<ResourceContents>, McpError> {
        let read = self.running.read_resource(ReadResourceRequestParams::new(uri));
        Ok(self.limited(read, Caller::nobody(), cancel).await?.contents)
    }

    pub async fn prompt(
        &self,
        name: &str,
        args: Map<String, Value>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Content>, McpError> {
        let get = self.running.get_prompt(GetPromptRequestParams::new(name).with_arguments(args));
        let result = self.limited(get, Caller::nobody(), cancel).await?;
        Ok(result.messages.iter().filter_map(|message| content_of(&message.content)).collect())
    }

    /// Dropping the request notifies the server of the cancellation.
    async fn limited<T>(
        &self,
        request: impl Future<Output = Result<T, ServiceError>>,
        caller: Caller,
        cancel: &CancellationToken,
    ) -> Result<T, McpError> {
        let _running = self.calls.begin(caller);
        tokio::pin!(request);
        let longest = tokio::time::sleep(LONGEST_CALL);
        tokio::pin!(longest);
        loop {
            tokio::select! {
                biased;
                answer = &mut request => return answer.map_err(|error| self.calls.explain(error)),
                () = cancel.cancelled() => return Err(McpError::Cancelled),
                () = self.calls.sign_of_life.notified() => {}
                () = tokio::time::sleep(self.call_timeout), if !self.calls.waits_for_user() => {
                    return Err(self.calls.timeout(self.call_timeout));
                }
                () = &mut longest => return Err(self.calls.timeout(LONGEST_CALL)),
            }
        }
    }
}

fn content_of(block: &ContentBlock) -> Option<Content> {
    match block {
        ContentBlock::Text(text) => Some(Content::Text(text.text.clone())),
        ContentBlock::Image(image) => Some(bytes(&image.mime_type, &image.data)),
        ContentBlock::Audio(audio) => Some(bytes(&audio.mime_type, &audio.data)),
        ContentBlock::Resource(embedded) => resource_of(&embedded.resource),
        ContentBlock::ResourceLink(link) => {
            Some(Content::Text(format!("resource {} ({}), for {READER}", link.uri, link.name)))
        }
        _ => None,
    }
}

fn resource_of(resource: &ResourceContents) -> Option<Content> {
    match resource {
        ResourceContents::TextResourceContents { text, .. } => Some(Content::Text(text.clone())),
        ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
            Some(bytes(mime_type.as_deref().unwrap_or("application/octet-stream"), blob))
        }
        _ => None,
    }
}

fn bytes(media_type: &str, base64: &str) -> Content {
    match STANDARD.decode(base64.trim()) {
        Ok(data) => Content::Bytes { media_type: media_type.to_owned(), data },
        Err(error) => Content::Text(format!("[{media_type} that cannot be shown: {error}]")),
    }
}
