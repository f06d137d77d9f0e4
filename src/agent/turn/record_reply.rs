//! What is done with an answer before it is believed: secrets leave what was said, and a report that cannot be true of
//! the whole prompt is taken for what it is.

use std::borrow::Cow;
use std::sync::Arc;

use crate::agent::control::Events;
use crate::agent::core::Core;
use crate::model::item::{Item, ItemId};
use crate::protocol::event::{Event, Level};
use crate::redact::detector::TextSource;
use crate::session::log::LogError;

impl Core {
    /// A server that cut the prompt without a word: say so once and stay within what it takes.
    pub fn mind_truncation(&mut self, events: &Events) {
        let Some(window) = self.conversation.take_truncation() else { return };
        if window >= self.context.window_tokens {
            return;
        }
        let sent = self.conversation.calibration.apply(self.last_estimate);
        // No server can have cut the prompt to less than what is sent each time and be of any use: such a report is wrong,
        // and there is nothing to stay within.
        if window < self.fixed_tokens() * 5 / 4 {
            return;
        }
        self.context.window_tokens = window;
        self.context.output_reserve_tokens = self.context.output_reserve_tokens.min(window / 8);
        let count = crate::base::text::human_tokens;
        let _ = events.send(Event::Notice {
            level: Level::Warning,
            text: format!(
                "The server silently cut the prompt: about {} tokens were sent, it took about {}. From now on requests \
                 stay within that. Give the server a larger window (Ollama: num_ctx or OLLAMA_CONTEXT_LENGTH; llama.cpp: \
                 --ctx-size) and start again, or set context_window in config.toml to what it has.",
                count(sent),
                count(window)
            ),
        });
    }

    /// Writes what the model said or called, without secrets. Signed thinking stays as it is: it would be refused.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn record_said(&mut self, mut item: Item) -> Result<(ItemId, Arc<Item>), LogError> {
        let vault = &self.dispatcher.cx.vault;
        match &mut item {
            Item::Assistant { text } => {
                if let Cow::Owned(clean) = vault.redact(text, TextSource::Text) {
                    *text = clean.into();
                }
            }
            Item::ToolCall(call) => {
                if let Cow::Owned(clean) = vault.redact_args(&call.args) {
                    call.args = clean.into();
                }
            }
            Item::Reasoning(reasoning) if reasoning.opaque.is_none() => {
                if let Cow::Owned(clean) = vault.redact(&reasoning.text, TextSource::Text) {
                    reasoning.text = clean.into();
                }
            }
            _ => {}
        }
        self.conversation.record(item)
    }
}
