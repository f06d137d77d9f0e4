//! What becomes of a message to which no answer came. Where a user sits before a composer it goes back there and leaves
//! the history; headless it stays in the session, which can be told to go on, unless it is the message itself that the
//! server refuses: then it would spoil every later request. Said again word for word it is the same message, not a second
//! one.

use crate::agent::control::TurnControl;
use crate::agent::core::Core;
use crate::model::item::{Item, ItemId, UserMessage};
use crate::session::log::LogError;

impl Core {
    /// Gives everything back that was typed for the running turn, of which nothing was answered: it leaves the history.
    /// `None` where it stays, or something came. `refused` says that the server did not want this message.
    pub fn take_back(
        &mut self,
        first: Option<ItemId>,
        refused: bool,
        control: &TurnControl,
    ) -> Option<String> {
        let first = first.filter(|_| refused || self.dispatcher.is_interactive())?;
        if !self.nothing_came(first) {
            return None;
        }
        self.conversation.rewind(first).ok()?;
        self.typed.extend(control.take_steering());
        Some(self.typed.join("\n"))
    }

    /// Whether the turn holds nothing but what was typed, and thinking.
    pub fn nothing_came(&self, first: ItemId) -> bool {
        let entries = self.conversation.history.entries();
        let mut turn = entries.iter().skip_while(|entry| entry.id != first).peekable();
        turn.peek().is_some() && turn.all(|entry| matches!(&*entry.item, Item::User(_) | Item::Reasoning(_)))
    }

    /// Whether `text` is the last message, which still waits for an answer.
    pub fn is_said_again(&self, text: &str) -> bool {
        self.waiting(text).is_some()
    }

    /// Takes the last message out of the history when it is `text` and still waits for an answer.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn take_waiting(&mut self, text: &str) -> Result<Option<UserMessage>, LogError> {
        let Some((id, message)) = self.waiting(text) else { return Ok(None) };
        self.conversation.rewind(id)?;
        Ok(Some(message))
    }

    fn waiting(&self, text: &str) -> Option<(ItemId, UserMessage)> {
        let typed = self.dispatcher.cx.vault.redact_typed(text);
        let entries = self.conversation.history.entries().iter().rev();
        let last = entries.into_iter().find(|entry| !matches!(&*entry.item, Item::Reasoning(_)))?;
        match &*last.item {
            Item::User(message) if !message.steering && *message.text == *typed => {
                Some((last.id, message.clone()))
            }
            _ => None,
        }
    }
}
