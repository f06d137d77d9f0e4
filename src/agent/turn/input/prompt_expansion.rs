//! Expands a message: the user's own slash commands, MCP servers' prompts, and mentioned MCP resources.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::calls::dispatcher::Dispatcher;
use crate::control::TurnControl;
use base::model::call::ToolCall;
use base::model::item::ToolResult;
use base::protocol::event::Level;
use base::text::one_line;
use base::{clock, sanitize};
use tools::cx::ToolCx;
use tools::mcp::servers::Servers;
use tools::mcp::typed;
use tools::own_commands::{self, OwnCommand, PromptPart};

#[derive(Clone, Default)]
pub struct PromptExpander {
    pub commands: Arc<[OwnCommand]>,
    pub servers: Option<Arc<Servers>>,
}

impl PromptExpander {
    /// The prompt that a command expands to, with commands to run; `None` if `text` isn't one.
    pub async fn prompt(&self, text: &str, cancel: &CancellationToken) -> Option<Vec<PromptPart>> {
        if let Some(prompt) = own_commands::expand(&self.commands, text) {
            return Some(prompt);
        }
        // On failure, the model gets the reason and can pass it on.
        let prompt = typed::prompt(self.servers.as_deref()?, text, cancel).await?;
        Some(vec![PromptPart::Text(prompt.unwrap_or_else(|why| why))])
    }

    /// The user's own command that a message calls, and the model it specifies.
    pub fn wanted_model(&self, text: &str) -> Option<(String, String)> {
        let (command, _) = own_commands::called(&self.commands, text)?;
        Some((command.row.name.clone(), command.model.clone()?))
    }

    pub async fn resources(&self, text: &str, cx: &ToolCx, cancel: &CancellationToken) -> Option<String> {
        let servers = self.servers.as_deref().filter(|_| text.contains('@'))?;
        let blocks = typed::resources(servers, text, &cx.spill, cx.observation, cancel).await;
        let block = blocks.join("\n");
        (!block.is_empty()).then_some(block)
    }
}

const TIMEOUT_MS: u64 = 120_000;

/// The prompt's text with the output of its commands, which are judged and confined like the model's.
pub async fn with_output(
    parts: Vec<PromptPart>,
    dispatcher: &Dispatcher,
    window_tokens: u64,
    control: &Arc<TurnControl>,
) -> String {
    // Their calls belong to no reply, so only their questions are shown.
    let (silent, _) = mpsc::unbounded_channel();
    let own = TurnControl::within(&control.questions, &silent, control.cancel.clone(), None);
    let (own, mut whole) = (Arc::new(own), String::new());
    for part in parts {
        match part {
            PromptPart::Text(text) => whole.push_str(&text),
            PromptPart::Command(command) => {
                let args = json!({"command": command, "timeout_ms": TIMEOUT_MS}).to_string();
                let id = format!("prompt-{}", clock::now_ms());
                let call = ToolCall { id: id.into(), name: "Bash".into(), args: args.into() };
                let result = dispatcher.run_alone(call, window_tokens, &own).await;
                whole.push_str(&result.map_or_else(String::new, |result| output(&command, &result, control)));
            }
        }
    }
    whole
}

fn output(command: &str, result: &ToolResult, control: &TurnControl) -> String {
    let envelope = &result.envelope;
    if let Some(error) = &envelope.error {
        let text = format!(
            "`{}`, whose output belongs in the prompt, did not run: {}.",
            one_line(command, 80),
            error.message
        );
        control.notice(Level::Warning, text);
        return format!("[`{command}` did not run: {}]", error.message);
    }
    let body = sanitize::as_data(envelope.body.trim_end());
    match envelope.data.exit_code().filter(|code| *code != 0) {
        Some(code) => format!("{body}\n[exit code {code}]"),
        None => body,
    }
}
