//! Expands a message: the user's own slash commands, MCP servers' prompts, and mentioned MCP resources.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use guard::redact::detector::TextSource;
use tools::cx::ToolCx;
use tools::mcp::servers::Servers;
use tools::mcp::typed;
use tools::own_commands::{self, OwnCommand};

#[derive(Clone, Default)]
pub struct PromptExpander {
    pub commands: Arc<[OwnCommand]>,
    pub servers: Option<Arc<Servers>>,
}

impl PromptExpander {
    /// The prompt that a command expands to; `None` if `text` isn't one.
    pub async fn prompt(&self, text: &str, cancel: &CancellationToken) -> Option<String> {
        if let Some(prompt) = own_commands::expand(&self.commands, text) {
            return Some(prompt);
        }
        // On failure the reason is sent instead, for the model to pass on.
        typed::prompt(self.servers.as_deref()?, text, cancel)
            .await
            .map(|prompt| prompt.unwrap_or_else(|why| why))
    }

    pub async fn resources(&self, text: &str, cx: &ToolCx, cancel: &CancellationToken) -> Option<String> {
        let servers = self.servers.as_deref().filter(|_| text.contains('@'))?;
        let blocks = typed::resources(servers, text, &cx.spill, cx.observation, cancel).await;
        let block = cx.redactor.redact(&blocks.join("\n"), TextSource::Text).into_owned();
        (!block.is_empty()).then_some(block)
    }
}
