//! Turns a recording or a stored session into replay events: items as the live agent would have them, and requests.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::call_shape::{self, CallShape};
use super::reader::{RecordedEvent, Recording};
use base::model::call::ToolCall;
use base::model::envelope::{Envelope, Status};
use base::model::item::{Item, ToolResult, UserMessage};
use context::session::record::Record;
use guard::redact::detector::TextSource;
use guard::redact::redactor::Redactor;

#[derive(Clone, Debug)]
pub enum ReplayEvent {
    /// A model request; `ts` is in seconds, if known.
    Request {
        ts: Option<f64>,
    },
    Item(Arc<Item>),
}

/// The events in order. Within a response, results follow all of its calls.
pub fn of_recording(recording: &Recording) -> Vec<ReplayEvent> {
    let item = |item: Item| ReplayEvent::Item(Arc::new(item));
    let mut out = Vec::with_capacity(recording.events.len() * 2);
    let redactor = Redactor::default();
    let mut shapes: HashMap<&str, CallShape> = HashMap::new();
    let mut called: HashSet<&str> = HashSet::new();
    let mut results: Vec<ReplayEvent> = Vec::new();
    let mut response: Option<i64> = None;
    let mut unnumbered = i64::MIN;
    for event in &recording.events {
        if let RecordedEvent::Assistant { g, ts, .. } | RecordedEvent::ToolCall { g, ts, .. } = event {
            // A response without a number is separate from others.
            let number = g.unwrap_or_else(|| {
                unnumbered += 1;
                unnumbered
            });
            if response.replace(number) != Some(number) {
                out.append(&mut results);
                out.push(ReplayEvent::Request { ts: *ts });
            }
        }
        match event {
            RecordedEvent::User { text } => {
                out.append(&mut results);
                response = None;
                out.push(item(Item::User(UserMessage::new(&redactor.redact_typed(text)))));
            }
            RecordedEvent::Assistant { text, .. } if !text.trim().is_empty() => {
                out.push(item(Item::assistant(redactor.redact(text, TextSource::Text))));
            }
            RecordedEvent::ToolCall { id, name, args, .. } if called.insert(id) => {
                shapes.insert(id, call_shape::of(name, args));
                let args = if args.is_null() { "{}".to_owned() } else { args.to_string() };
                out.push(item(Item::ToolCall(ToolCall {
                    id: id.as_str().into(),
                    name: name.as_str().into(),
                    args: redactor.redact_args(&args).into(),
                })));
            }
            RecordedEvent::ToolResult { id, text, exit_code } => {
                if let Some(shape) = shapes.remove(id.as_str()) {
                    let text = redactor.redact(text, TextSource::Text);
                    results.push(item(Item::ToolResult(result(id, &text, *exit_code, shape))));
                }
            }
            _ => {}
        }
    }
    out.append(&mut results);
    out
}

fn result(id: &str, text: &str, exit_code: Option<i64>, shape: CallShape) -> ToolResult {
    let mut envelope = Envelope::success("").with_body("content", text);
    envelope.data = shape.data.into();
    if let Some(code) = exit_code {
        envelope = envelope.with("exit_code", code).partial_if(code != 0);
    }
    // Recordings have no status, so a short text that starts like an error is one.
    let begins = text.trim_start().chars().take(40).collect::<String>().to_ascii_lowercase();
    let refused = ["error", "<tool_use_error", "file not found", "no such file"]
        .iter()
        .any(|sign| begins.starts_with(sign));
    if refused && text.len() < 600 && !matches!(shape.tool, "Bash" | "Grep") {
        envelope.status = Status::Error;
    }
    ToolResult::new(id, shape.tool, envelope)
}

/// A request is assumed where the model starts to answer; rewound parts are left out.
pub fn of_session(records: &[Record]) -> Vec<ReplayEvent> {
    // With the item's number, to find what a rewind removes.
    let mut out: Vec<(u64, ReplayEvent)> = Vec::new();
    let mut answering = false;
    for record in records {
        match record {
            Record::Item(record) => {
                let id = record.id.0;
                let answers =
                    matches!(&*record.item, Item::Assistant { .. } | Item::Reasoning(_) | Item::ToolCall(_));
                if answers && !answering {
                    out.push((id, ReplayEvent::Request { ts: Some(record.ms as f64 / 1000.0) }));
                }
                answering = answers;
                out.push((id, ReplayEvent::Item(Arc::clone(&record.item))));
            }
            Record::Request(_) => answering = false,
            Record::Rewind { to } => out.retain(|(id, _)| *id < to.0),
            _ => {}
        }
    }
    out.into_iter().map(|(_, event)| event).collect()
}
