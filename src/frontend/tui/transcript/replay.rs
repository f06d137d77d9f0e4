//! A resumed session as transcript: its last items as first shown.

use std::collections::HashMap;
use std::sync::Arc;

use super::entry::TranscriptEntry;
use super::tool::{self, ToolView};
use base::model::item::{Item, ToolResult};
use base::protocol::event::Level;
use base::text;

const SHOWN: usize = 50;

pub fn entries(items: &[Arc<Item>]) -> Vec<TranscriptEntry> {
    let from = items.len().saturating_sub(SHOWN);
    let mut entries = Vec::new();
    if from > 0 {
        entries.push(note(format!("… {}", text::plural(from, "earlier item"))));
    }
    let mut titles: HashMap<&str, String> = HashMap::new();
    // A call may be before the cut and its result after it.
    for (index, item) in items.iter().enumerate().skip(from.saturating_sub(SHOWN)) {
        let shown = of_item(item, &mut titles);
        entries.extend(shown.into_iter().filter(|_| index >= from));
    }
    entries
}

/// A result's title comes from its call, which comes before it.
pub fn title<'a>(item: &'a Item, titles: &mut HashMap<&'a str, String>) -> String {
    match item {
        Item::ToolCall(call) => {
            titles.insert(&call.id, call.title());
            String::new()
        }
        Item::ToolResult(result) => {
            titles.remove(result.call_id.as_ref()).unwrap_or_else(|| result.tool.to_string())
        }
        _ => String::new(),
    }
}

pub fn entry(item: &Item) -> Option<TranscriptEntry> {
    Some(match item {
        Item::User(message) => TranscriptEntry::User(Arc::clone(&message.text)),
        Item::Assistant { text, .. } => {
            TranscriptEntry::Answer { markdown: text.to_string(), tight: false, code: None }
        }
        Item::Reasoning(reasoning) => TranscriptEntry::Reasoning(reasoning.text.to_string()),
        Item::Image(image) => note(image.placeholder("")),
        Item::Summary(_) => note("Earlier turns were summarized here.".to_owned()),
        Item::ToolCall(_) | Item::ToolResult(_) | Item::Reminder(_) => return None,
    })
}

/// `titles` collects the titles of earlier calls.
pub fn of_item<'a>(item: &'a Item, titles: &mut HashMap<&'a str, String>) -> Vec<TranscriptEntry> {
    let title = title(item, titles);
    let tool = |result: &ToolResult, title| TranscriptEntry::Tool(ToolView::of_result(result, title));
    match item {
        Item::ToolResult(result) => vec![tool(result, title)],
        Item::Reasoning(_) => Vec::new(),
        Item::User(message) => {
            let ran = tool::run_by_user(message).map(|(title, result)| tool(&result, title));
            entry(item).into_iter().chain(ran).collect()
        }
        item => entry(item).into_iter().collect(),
    }
}

pub fn note(text: String) -> TranscriptEntry {
    TranscriptEntry::Notice { level: Level::Info, text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::render::theme::Theme;
    use base::model::item::UserMessage;

    #[test]
    fn long_session_replay() {
        let items: Vec<Arc<Item>> =
            (0..60).map(|number| Arc::new(Item::User(UserMessage::new(&number.to_string())))).collect();
        let entries = entries(&items);
        assert_eq!(entries.len(), 51);
        assert_eq!(entries[0], note("… 10 earlier items".to_owned()));
        assert_eq!(entries[1], TranscriptEntry::User("10".into()));
    }

    #[test]
    fn commands_of_the_user_with_their_output() {
        let mut message = UserMessage::new("!echo one; echo two");
        message.add_printed("one\ntwo\n");
        let entries = entries(&[Arc::new(Item::User(message))]);
        let lines: Vec<String> = entries
            .iter()
            .flat_map(|entry| entry.lines(None, 40, Theme::new(false)))
            .map(|line| line.to_string())
            .collect();
        assert!(
            lines.join("\n").contains("● Bash echo one; echo two\n  └ 2 lines\n    one\n    two"),
            "{lines:?}"
        );
    }
}
