//! One item's story in words (`/context why`), for the popup and for the transcript.

use crate::base::clock;
use crate::base::sanitize;
use crate::base::text;
use crate::protocol::ledger::ItemHistory;

/// Heading.
pub fn heading(story: &ItemHistory) -> String {
    format!("{}  {}", story.id, text::one_line(&sanitize::clean(&story.origin), 120))
}

/// Names and facts, in order.
pub fn rows(story: &ItemHistory) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    if let Some(ms) = story.arrived_ms {
        rows.push(("arrived".to_owned(), clock::local(ms)));
    }
    let pinned = if story.pinned { ", pinned" } else { "" };
    rows.push(("original".to_owned(), format!("{} tokens", story.full_tokens)));
    rows.push(("sent now".to_owned(), format!("{} tokens, {}{pinned}", story.tokens, story.form)));
    if story.events.is_empty() {
        rows.push(("changes".to_owned(), "none".to_owned()));
    }
    for event in &story.events {
        let when = format!("after request {}", event.after_requests);
        rows.push((when, format!("{} — {}", event.what, event.cause)));
    }
    rows.push(("recall".to_owned(), story.recall.clone()));
    rows
}
