//! What edits need: their old text, or the context of a patch hunk, in one piece. An edit whose text was in an
//! earlier message but no longer is has to read its file again.

use memchr::memmem;
use serde_json::Value;

use super::verbatim::{self, QUOTED};
use crate::trace::recording::events::ReplayEvent;
use base::model::item::Item;
use base::model::request::Message;

/// Shorter texts are found by chance.
const LEAST_BYTES: usize = 12;
/// Average tokens for reading a file again over recorded sessions: the call, its result, and both once more from the cache.
pub const REREAD_TOKENS: f64 = 5_900.0;

/// For each request, the texts that its edits quote and that an earlier message had in one piece.
#[derive(Default)]
pub struct EditNeeds {
    by_request: Vec<Vec<String>>,
}

impl EditNeeds {
    pub fn of(events: &[ReplayEvent]) -> Self {
        let mut needs = Self::default();
        // Up to `sent`, what the request had; after that, what its answer adds.
        let (mut texts, mut sent): (Vec<String>, usize) = (Vec::new(), 0);
        for event in events {
            match event {
                ReplayEvent::Request { .. } => {
                    needs.by_request.push(Vec::new());
                    sent = texts.len();
                }
                ReplayEvent::Item(item) => {
                    if let (Item::ToolCall(call), Some(list)) = (&**item, needs.by_request.last_mut()) {
                        let args = serde_json::from_str(&call.args).unwrap_or_default();
                        let quoted = quoted(&args).into_iter();
                        list.extend(
                            quoted.filter(|quoted| texts[..sent].iter().any(|text| has(text, quoted))),
                        );
                    }
                    texts.extend(verbatim::texts_of_item(item).iter().map(|text| normal(text)));
                }
            }
        }
        needs
    }
}

pub struct EditView<'a> {
    needs: &'a EditNeeds,
    messages: Vec<Vec<String>>,
}

impl<'a> EditView<'a> {
    pub fn new(needs: &'a EditNeeds) -> Self {
        Self { needs, messages: Vec::new() }
    }

    /// `same`: messages shared with the previous request. Returns how many texts its edits quote, and how many it contains.
    pub fn record(&mut self, n: usize, messages: &[Message], same: usize) -> (u64, u64) {
        if self.needs.by_request.is_empty() {
            return (0, 0);
        }
        self.messages.truncate(same);
        let fresh = messages[same..]
            .iter()
            .map(|message| verbatim::texts_of(message).iter().map(|text| normal(text)).collect::<Vec<_>>());
        self.messages.extend(fresh);
        let quoted = self.needs.by_request.get(n).map_or(&[][..], Vec::as_slice);
        let held = |quoted: &&String| self.messages.iter().flatten().any(|text| has(text, quoted));
        (quoted.len() as u64, quoted.iter().filter(held).count() as u64)
    }
}

fn has(text: &str, quoted: &str) -> bool {
    memmem::find(text.as_bytes(), quoted.as_bytes()).is_some()
}

fn quoted(args: &Value) -> Vec<String> {
    let mut found = Vec::new();
    verbatim::strings(args, "", &mut |key, text| {
        if text.contains("*** Begin Patch") {
            found.extend(hunks(text));
        } else if QUOTED.contains(&key) {
            found.push(normal(text).trim().to_owned());
        }
    });
    found.retain(|text| text.len() >= LEAST_BYTES);
    found
}

/// The old side of each hunk in an `apply_patch` text.
fn hunks(patch: &str) -> Vec<String> {
    let (mut found, mut hunk) = (Vec::new(), Vec::new());
    let mut updates = false;
    for line in patch.lines().chain(["@@"]) {
        if line.starts_with("@@") || line.starts_with("***") {
            found.push(normal(&hunk.join("\n")).trim().to_owned());
            hunk.clear();
            updates = updates && line.starts_with("@@") || line.starts_with("*** Update File");
        } else if let Some(old) = line.strip_prefix([' ', '-']).filter(|_| updates) {
            hunk.push(old);
        }
    }
    found
}

/// Lines without indentation and line numbers, which every tool shows differently.
fn normal(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| without_number(line.trim())).collect();
    lines.join("\n")
}

fn without_number(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = line[digits..].strip_prefix(['\t', '→', ':', '-', '|']).filter(|_| digits > 0);
    rest.unwrap_or(line).trim()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use base::model::call::ToolCall;
    use base::model::item::UserMessage;
    use serde_json::json;

    #[test]
    fn an_edit_needs_its_text_in_one_piece() {
        let patch = "*** Begin Patch\n*** Update File: a.rs\n@@ fn a\n let first = 1;\n-let second = 2;\n+let third = 3;\n*** End Patch";
        let call = |args: Value| {
            let call = ToolCall { id: "c".into(), name: "x".into(), args: args.to_string().into() };
            ReplayEvent::Item(Arc::new(Item::ToolCall(call)))
        };
        let shown = "1\tlet first = 1;\n2\tlet second = 2;\n3\tlet unrelated = 3;";
        let events = [
            ReplayEvent::Item(Arc::new(Item::User(UserMessage::new(shown)))),
            ReplayEvent::Request { ts: None },
            call(json!({ "input": patch })),
            call(json!({ "old_string": "second = 2;\n    let unrelated" })),
            call(json!({ "old_string": "never seen before" })),
        ];
        let needs = EditNeeds::of(&events);
        assert_eq!(needs.by_request[0].len(), 2, "what never stood anywhere can't be missed");
        let mut view = EditView::new(&needs);
        assert_eq!(view.record(0, &[Message::User(shown.into())], 0), (2, 2));
        let parts = ["1\tlet first = 1;", "let second = 2;\nlet unrelated = 3;"];
        let parts = parts.map(|part| Message::User(part.into()));
        assert_eq!(view.record(0, &parts, 0), (2, 1), "the patch's context is in two pieces");
    }
}
