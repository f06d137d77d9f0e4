//! An item as it is sent: in full, with another text, or as a pointer. Pure: the same item and form always give the
//! same bytes, which keeps the prompt cache warm. The log records the text of smaller forms, so their wording
//! may change between versions without breaking a replay.

use std::sync::Arc;

use serde_json::Value;

use crate::session::record::FormName;
use crate::tokens::estimate::upper_bound;
use base::model::call::ToolCall;
use base::model::envelope::Status;
use base::model::item::{Item, ItemId, Reminder, ToolResult};
use base::model::request::{AssistantText, Message};
use base::text;

/// Bytes kept of each string in a call's arguments.
const POINTER_ARG: usize = 160;

/// The pointer for a result that is left out; `None` for other items, or if it would not be shorter.
pub fn left_out(id: ItemId, item: &Item) -> Option<Message> {
    let Item::ToolResult(result) = item else { return None };
    let text = pointer(id, result);
    (text.len() < result.envelope.wire().len()).then(|| with_text(item, FormName::Pointer, &text.into()))
}

/// Text that others can write never gets the system role.
fn told(reminder: &Reminder, text: Arc<str>) -> Message {
    if reminder.about.is_ours() { Message::System(text) } else { Message::User(text) }
}

pub fn with_text(item: &Item, form: FormName, text: &Arc<str>) -> Message {
    let text = Arc::clone(text);
    match item {
        _ if form == FormName::Folded => Message::Assistant(text.into()),
        // A note quotes what others wrote, so it doesn't get the system role.
        _ if form == FormName::Note => Message::User(text),
        Item::User(_) | Item::Summary(_) | Item::Image(_) => Message::User(text),
        Item::Assistant { phase, .. } => Message::Assistant(AssistantText { text, phase: *phase }),
        Item::Reminder(reminder) => told(reminder, text),
        Item::Reasoning(reasoning) => Message::Reasoning(Arc::new(reasoning.clone())),
        Item::ToolCall(call) => Message::Call(Arc::new(ToolCall { args: text, ..call.clone() })),
        Item::ToolResult(result) => Message::Result {
            call_id: Arc::clone(&result.call_id),
            text,
            error: result.envelope.error.is_some(),
        },
    }
}

pub fn full(item: &Item) -> Message {
    match item {
        Item::User(message) => Message::User(message.wire()),
        Item::Assistant { text, phase } => {
            Message::Assistant(AssistantText { text: Arc::clone(text), phase: *phase })
        }
        Item::Reminder(reminder) => told(reminder, Arc::clone(&reminder.text)),
        Item::Reasoning(reasoning) => Message::Reasoning(Arc::new(reasoning.clone())),
        Item::ToolCall(call) => Message::Call(Arc::new(call.clone())),
        Item::ToolResult(result) => Message::Result {
            call_id: Arc::clone(&result.call_id),
            text: result.envelope.wire().into(),
            error: result.envelope.error.is_some(),
        },
        Item::Summary(summary) => Message::User(Arc::clone(&summary.text)),
        Item::Image(image) => Message::Image(Arc::new(image.clone())),
    }
}

pub fn pointer(id: ItemId, result: &ToolResult) -> String {
    let subject = result.envelope.data.subject().map(|subject| format!(" {}", text::one_line(subject, 80)));
    let subject = subject.unwrap_or_default();
    let status = match result.envelope.status {
        Status::Success => "ok",
        Status::Partial => "partial",
        Status::Error => "failed",
    };
    format!("[{}{subject}: {status}; result left out; full text: Recall {{\"id\":{}}}]", result.tool, id.0)
}

/// A call's arguments in about `max_tokens`, as one JSON object: long strings are cut, or only the mark is left.
pub fn short_args(id: ItemId, args: &str, max_tokens: u64) -> String {
    if let Ok(whole) = serde_json::from_str::<Value>(args)
        && whole.is_object()
    {
        for chars in [1_600, 400, POINTER_ARG, 40] {
            let mut value = whole.clone();
            if elide_strings(&mut value, id, chars) {
                let short = value.to_string();
                if u64::from(upper_bound(&short)) <= max_tokens {
                    return short;
                }
            }
        }
    }
    serde_json::json!({ "left_out": format!("arguments: Recall {{\"id\":{}}}", id.0) }).to_string()
}

fn elide_strings(value: &mut Value, id: ItemId, chars: usize) -> bool {
    let any = |any: bool, value: &mut Value| elide_strings(value, id, chars) | any;
    match value {
        Value::String(string) if string.len() > chars * 2 => {
            *string = format!("{} [… left out, see {id}]", text::elide(string, chars));
            true
        }
        Value::Array(values) => values.iter_mut().fold(false, any),
        Value::Object(values) => values.values_mut().fold(false, any),
        _ => false,
    }
}
