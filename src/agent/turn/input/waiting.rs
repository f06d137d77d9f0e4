//! A message that still waits for its reply: if the same text is sent again, it counts as that message.

use crate::session::conversation::Conversation;
use base::model::item::{Image, Item, ItemId, UserMessage};
use context::history::entry::HistoryEntry;
use context::session::log::LogError;
use guard::redact::redactor::Redactor;

/// The last message, if it is `text` and still waits for a reply.
pub fn waiting(
    text: &str,
    conversation: &Conversation,
    redactor: &Redactor,
) -> Option<(ItemId, UserMessage)> {
    let typed = redactor.redact_typed(text);
    let entries = conversation.history.entries().iter().rev();
    let aside = |entry: &&HistoryEntry| {
        matches!(&*entry.item, Item::Reasoning(_) | Item::Reminder(_) | Item::Image(_))
    };
    let last = entries.into_iter().find(|entry| !aside(entry))?;
    match &*last.item {
        Item::User(message) if !message.steering && *message.text == *typed => {
            Some((last.id, message.clone()))
        }
        _ => None,
    }
}

/// Removes that message and its images from the history.
pub fn take_waiting(
    text: &str,
    conversation: &mut Conversation,
    redactor: &Redactor,
) -> Result<Option<(UserMessage, Vec<Image>)>, LogError> {
    let Some((id, message)) = waiting(text, conversation, redactor) else { return Ok(None) };
    let behind = conversation.history.entries().iter().filter(|entry| entry.id > id);
    let images = behind.filter_map(|entry| match &*entry.item {
        Item::Image(image) => Some(image.clone()),
        _ => None,
    });
    let images = images.collect();
    conversation.rewind(id)?;
    Ok(Some((message, images)))
}
