//! An item as it is sent: in full, compressed, or as a pointer. Pure: the same item and form always give the
//! same bytes, which keeps the prompt cache warm. The log records the text of smaller forms, so their wording
//! may change between versions without breaking a replay.

use std::sync::Arc;

use serde_json::Value;

use crate::compress::cut;
use crate::session::record::FormName;
use crate::tokens::estimate::upper_bound;
use base::model::call::ToolCall;
use base::model::envelope::Status;
use base::model::item::{Item, ItemId, LEFT_OUT, Reminder, ToolResult};
use base::model::request::{AssistantText, Message};
use base::text;

/// Bytes that a pointer form keeps of a message, and of each string in a call's arguments.
const POINTER_TEXT: usize = 1_200;
/// The same for user text, which is the last to be cut.
const POINTER_REQUEST: usize = 4_000;
const POINTER_ARG: usize = 160;

/// The message for `item` in `form`, or `None` if that is the same as the full form.
pub fn shortened(id: ItemId, item: &Item, form: FormName) -> Option<Message> {
    match (item, form) {
        (_, FormName::Full | FormName::Filtered | FormName::Folded | FormName::Note | FormName::Gone) => None,
        (Item::ToolResult(result), FormName::Pointer) => {
            let text = pointer(id, result);
            let full = result.envelope.wire().len();
            (text.len() < full).then(|| Message::Result {
                call_id: Arc::clone(&result.call_id),
                text: text.into(),
                error: result.envelope.error.is_some(),
            })
        }
        (_, FormName::Compressed | FormName::Masked) => None,
        (Item::User(message), FormName::Pointer) => {
            Some(Message::User(middle_out(id, &message.wire(), POINTER_REQUEST)?.into()))
        }
        (Item::Assistant { text, .. }, FormName::Pointer) => {
            Some(Message::Assistant(middle_out(id, text, POINTER_TEXT)?.into()))
        }
        (Item::Summary(summary), FormName::Pointer) => {
            Some(Message::User(middle_out(id, &summary.text, POINTER_TEXT * 2)?.into()))
        }
        (Item::ToolCall(call), FormName::Pointer) => {
            let mut args = call.parsed_args().unwrap_or_else(|_| {
                Value::Object(std::iter::once(("unparsable".to_owned(), Value::from(&*call.args))).collect())
            });
            if !elide_strings(&mut args, id, POINTER_ARG) {
                return None;
            }
            let mut call = call.clone();
            call.args = args.to_string().into();
            Some(Message::Call(Arc::new(call)))
        }
        (Item::Image(image), FormName::Pointer) => Some(Message::User(image.placeholder(LEFT_OUT).into())),
        (Item::Reasoning(_) | Item::Reminder(_), FormName::Pointer) => None,
    }
}

/// Text that others can write never gets the program's own role.
fn told(reminder: &Reminder, text: Arc<str>) -> Message {
    if reminder.about.is_ours() { Message::System(text) } else { Message::User(text) }
}

/// The message for `item` with a text that was decided (and recorded) when the form was adopted.
pub fn with_text(item: &Item, form: FormName, text: &Arc<str>) -> Message {
    let text = Arc::clone(text);
    match item {
        _ if form == FormName::Folded => Message::Assistant(text.into()),
        // It quotes what others wrote, so it isn't in the program's own role.
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

fn middle_out(id: ItemId, whole: &str, max_bytes: usize) -> Option<String> {
    if whole.len() <= max_bytes + 100 {
        return None;
    }
    let (head, tail, left_out) = cut::head_and_tail(whole, max_bytes);
    let left_out = text::human_bytes(left_out as u64);
    Some(format!("{head}\n[… {left_out} left out; full text: Recall {{\"id\":{}}} …]\n{tail}", id.0))
}

/// A call's arguments in about `max_tokens`, as one JSON object: long strings are cut, or only the mark
/// stays.
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
    cut::cut_strings(value, &|string| {
        (string.len() > chars * 2).then(|| format!("{} [… left out, see {id}]", text::elide(string, chars)))
    })
}
