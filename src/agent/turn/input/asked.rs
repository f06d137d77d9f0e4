//! What a message stands for: a slash command of the user's own or a prompt of an MCP server, and the resources of servers
//! that it mentions.

use std::sync::Arc;

use guard::redact::detector::TextSource;
use tools::cx::ToolCx;
use tools::mcp::servers::Servers;
use tools::mcp::typed;
use tools::own_commands::{self, OwnCommand};

/// Where prompts and resources come from.
#[derive(Clone, Default)]
pub struct Asked {
    pub commands: Arc<[OwnCommand]>,
    pub servers: Option<Arc<Servers>>,
}

impl Asked {
    /// The prompt that `text` stands for; `None` when it is no command.
    pub async fn prompt(&self, text: &str) -> Option<String> {
        if let Some(prompt) = own_commands::expand(&self.commands, text) {
            return Some(prompt);
        }
        // Why there is none, the model tells the user.
        typed::prompt(self.servers.as_deref()?, text).await.map(|prompt| prompt.unwrap_or_else(|why| why))
    }

    /// The resources that `text` mentions, as blocks behind it.
    pub async fn resources(&self, text: &str, cx: &ToolCx) -> Vec<Arc<str>> {
        let Some(servers) = self.servers.as_deref().filter(|_| text.contains('@')) else { return Vec::new() };
        let blocks = typed::resources(servers, text, &cx.spill, cx.observation).await;
        blocks.iter().map(|block| Arc::from(&*cx.redactor.redact(block, TextSource::Text))).collect()
    }
}
