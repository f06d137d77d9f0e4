//! A recording as the beats of a session: what arrived, when a request was made, what the model answered. The items
//! are those that the live agent would hold.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::call_shape::{self, Shape};
use super::reader::{Event, Recording};
use crate::model::call::ToolCall;
use crate::model::envelope::{Envelope, Status};
use crate::model::item::{Item, ToolResult, UserMessage};
use crate::redact::detector::TextSource;
use crate::redact::redactor::Redactor;

/// One beat.
#[derive(Clone, Debug)]
pub enum ReplayEvent {
    /// The model is asked: `n` counts requests from 0; `ts` is in seconds where the recording knows it.
    Request { n: usize, ts: Option<f64> },
    /// Something is said, called or returned.
    Item(Arc<Item>),
}

/// The beats of `recording`, in order. Within one response the results come behind all of its calls.
pub fn beats(recording: &Recording) -> Vec<ReplayEvent> {
    let mut out = Vec::with_capacity(recording.events.len() * 2);
    // As in a live session, no secret of the recording goes any further.
    let vault = Redactor::default();
    let mut shapes: HashMap<&str, Shape> = HashMap::new();
    let mut open: HashSet<&str> = HashSet::new();
    let mut late: Vec<ReplayEvent> = Vec::new();
    let mut group: Option<i64> = None;
    let mut fresh = i64::MIN;
    let mut n = 0;
    for event in &recording.events {
        match event {
            Event::Meta {} | Event::Unknown => {}
            Event::User { text } => {
                out.append(&mut late);
                group = None;
                out.push(ReplayEvent::Item(Arc::new(Item::User(UserMessage::new(
                    &vault.redact_typed(text),
                )))));
            }
            Event::Assistant { g, ts, .. } | Event::ToolCall { g, ts, .. } => {
                // A response without a number is one of its own.
                let of = g.unwrap_or_else(|| {
                    fresh += 1;
                    fresh
                });
                if group != Some(of) {
                    out.append(&mut late);
                    out.push(ReplayEvent::Request { n, ts: *ts });
                    n += 1;
                    group = Some(of);
                }
                match event {
                    Event::Assistant { text, .. } if !text.trim().is_empty() => {
                        out.push(ReplayEvent::Item(Arc::new(Item::Assistant {
                            text: vault.redact(text, TextSource::Text).into(),
                        })));
                    }
                    Event::ToolCall { id, name, args, .. } if open.insert(id) => {
                        shapes.insert(id, call_shape::of(name, args));
                        let args =
                            if args.is_null() { Value::Object(serde_json::Map::new()) } else { args.clone() };
                        out.push(ReplayEvent::Item(Arc::new(Item::ToolCall(ToolCall {
                            id: id.as_str().into(),
                            name: name.as_str().into(),
                            args: vault.redact_args(&args.to_string()).into(),
                        }))));
                    }
                    _ => {}
                }
            }
            Event::ToolResult { id, text, exit_code } => {
                let Some(shape) = shapes.remove(id.as_str()) else { continue };
                late.push(ReplayEvent::Item(Arc::new(Item::ToolResult(result(
                    id,
                    &vault.redact(text, TextSource::Text),
                    *exit_code,
                    shape,
                )))));
            }
        }
    }
    out.append(&mut late);
    out
}

fn result(id: &str, text: &str, exit_code: Option<i64>, shape: Shape) -> ToolResult {
    let mut envelope = Envelope::success("").with_body("content", text);
    envelope.data = shape.data;
    if let Some(code) = exit_code {
        envelope.data.insert("exit_code".to_owned(), code.into());
        if code != 0 {
            envelope = envelope.partial();
        }
    }
    // Recordings keep no status: a short text that begins like a refusal is one.
    let begins = text.trim_start().chars().take(40).collect::<String>().to_ascii_lowercase();
    let refused = ["error", "<tool_use_error", "file not found", "no such file"]
        .iter()
        .any(|sign| begins.starts_with(sign));
    if refused && text.len() < 600 && !matches!(shape.tool, "Bash" | "Grep") {
        envelope.status = Status::Error;
    }
    ToolResult { call_id: id.into(), tool: shape.tool.into(), envelope }
}
