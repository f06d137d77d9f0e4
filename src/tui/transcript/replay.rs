//! A resumed session as transcript: the last items, in the form in which they were first shown.
//! Knows items, not where they come from.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::TranscriptEntry;
use super::tool::{self, ToolView};
use crate::base::text;
use crate::model::item::Item;
use crate::protocol::event::Level;

/// Items that are shown again.
const SHOWN: usize = 50;

/// The last items of `items`, with a line that says how many came before.
pub fn entries(items: &[Arc<Item>]) -> Vec<TranscriptEntry> {
    let from = items.len().saturating_sub(SHOWN);
    let mut entries = Vec::new();
    if from > 0 {
        entries.push(note(format!("… {}", text::plural(from, "earlier item"))));
    }
    let mut titles: HashMap<&str, String> = HashMap::new();
    // A call may stand before the cut and its result behind it.
    for (index, item) in items.iter().enumerate().skip(from.saturating_sub(SHOWN)) {
        entries.extend(entry(item, &mut titles).filter(|_| index >= from));
    }
    entries
}

/// One item as it is shown; `titles` has those of the calls before it.
pub fn entry<'a>(item: &'a Item, titles: &mut HashMap<&'a str, String>) -> Option<TranscriptEntry> {
    Some(match item {
        Item::ToolCall(call) => {
            titles.insert(&call.id, tool::title(&call.name, &call.args));
            return None;
        }
        Item::User(message) => TranscriptEntry::User(Arc::clone(&message.text)),
        Item::Assistant { text, .. } => {
            TranscriptEntry::Answer { markdown: text.to_string(), tight: false, code: None }
        }
        Item::ToolResult(result) => TranscriptEntry::Tool(ToolView {
            call_id: Arc::clone(&result.call_id),
            tool: Arc::clone(&result.tool),
            title: titles.remove(result.call_id.as_ref()).unwrap_or_else(|| result.tool.to_string()),
            tail: String::new(),
            outcome: Some(tool::outcome(&result.tool, &result.envelope)),
        }),
        Item::Image(image) => note(image.placeholder("")),
        Item::Summary(_) => note("Earlier turns were summarized here.".to_owned()),
        Item::Reasoning(_) | Item::Reminder(_) => return None,
    })
}

fn note(text: String) -> TranscriptEntry {
    TranscriptEntry::Notice { level: Level::Info, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::item::UserMessage;

    #[test]
    fn long_session_replay() {
        let items: Vec<Arc<Item>> =
            (0..60).map(|number| Arc::new(Item::User(UserMessage::new(&number.to_string())))).collect();
        let entries = entries(&items);
        assert_eq!(entries.len(), 51);
        assert_eq!(entries[0], note("… 10 earlier items".to_owned()));
        assert_eq!(entries[1], TranscriptEntry::User("10".into()));
    }
}
