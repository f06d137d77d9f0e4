//! A Responses reply, streamed or whole, as `StreamEvent`s. Items count as given in `response.output_item.done`;
//! deltas are for display, and for what imitators leave out: finished items, indexes, ids. Facts: the
//! `openai` package 3.54.0 for Python (`types/responses`), November 2026.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::body::{self, OPAQUE_KIND};
use crate::call_ids;
use crate::wire::address::{self, Host};
use crate::wire::decoder::{Decoded, Decoder, Events, Flow, ReplyState, check_size, openai_usage, parse};
use crate::wire::endpoint::{self, Endpoint};
use crate::wire::exchange::{Dialect, HttpProvider};
use crate::wire::sse::SseEvent;
use base::config::settings::ProviderSettings;
use base::model::call::ToolCall;
use base::model::item::{Item, Reasoning};
use base::model::provider::ProviderError;
use base::model::request::Request;
use base::model::stream::StreamEvent;
use base::model::usage::Usage;

pub type Responses = HttpProvider<ResponsesDialect>;

pub struct ResponsesDialect(Host);

impl Dialect for ResponsesDialect {
    const NAME: &'static str = "openai";

    fn connect(settings: &ProviderSettings) -> Result<(Endpoint, Self), ProviderError> {
        let (endpoint, host) = endpoint::openai_endpoint(settings, address::RESPONSES)?;
        Ok((endpoint, Self(host)))
    }

    fn body(&self, request: &Request) -> String {
        body::body(request, self.0)
    }

    fn decoder(state: ReplyState) -> Box<dyn Decoder> {
        Box::new(ResponsesDecoder::new(state))
    }
}

/// An unfinished item: its initial form, and what the deltas added.
#[derive(Debug)]
struct OpenItem {
    item: Value,
    body: String,
    /// For reasoning: `summary` or `content`.
    field: &'static str,
}

#[derive(Debug, Default)]
pub struct ResponsesDecoder {
    state: ReplyState,
    open: BTreeMap<u64, OpenItem>,
    bytes: usize,
    begun: usize,
    finished: usize,
    has_calls: bool,
    usage: Option<Usage>,
}

impl ResponsesDecoder {
    pub fn new(state: ReplyState) -> Self {
        Self { state, ..Self::default() }
    }

    fn place(&self, event: &Value) -> Option<u64> {
        let id = event["item_id"].as_str().or(event["item"]["id"].as_str());
        let by_id = || Some(*self.open.iter().find(|(_, open)| open.item["id"].as_str() == id)?.0);
        event["output_index"].as_u64().or_else(|| id.and_then(|_| by_id()))
    }

    fn begin(&mut self, event: &Value, out: &mut Events) -> Decoded {
        let next = self.open.keys().next_back().map_or(0, |last| last + 1);
        let place = self.place(event).unwrap_or(next);
        self.open_item(place, event["item"].clone(), out)
    }

    fn open_item(&mut self, place: u64, item: Value, out: &mut Events) -> Decoded {
        self.begun += 1;
        self.add_bytes(item.to_string().len())?;
        // An item that never ended is as complete as it will get.
        if let Some(before) = self.open.remove(&place) {
            self.finish_open(before, out);
        }
        out.extend(call_name(&item).map(|name| StreamEvent::CallStarted { name }));
        self.open.insert(place, OpenItem::new(item));
        Ok(())
    }

    fn add_bytes(&mut self, bytes: usize) -> Result<(), ProviderError> {
        self.bytes += bytes;
        check_size(self.bytes, self.begun)
    }

    fn delta(&mut self, event: &Value, kind: &str, field: &'static str, out: &mut Events) -> Decoded {
        let piece = event["delta"].as_str().unwrap_or_default();
        if piece.is_empty() {
            return Ok(());
        }
        self.add_bytes(piece.len())?;
        let last = self.open.keys().next_back().copied();
        let place = self.place(event).or(last).unwrap_or(0);
        // Some imitators leave out the start of an item.
        if self.open.get(&place).is_none_or(|open| !open.is(kind)) {
            self.open_item(place, json!({"type": kind}), out)?;
        }
        let Some(open) = self.open.get_mut(&place) else { return Ok(()) };
        open.body.push_str(piece);
        open.field = field;
        out.push(match kind {
            "message" => StreamEvent::TextDelta(piece.to_owned()),
            "reasoning" => StreamEvent::ReasoningDelta(piece.to_owned()),
            _ => StreamEvent::CallProgress { bytes: open.body.len() },
        });
        Ok(())
    }

    fn done(&mut self, event: &Value, out: &mut Events) -> Decoded {
        let item = &event["item"];
        let alike = |place: &u64| self.open.get(place).is_some_and(|open| open.item["type"] == item["type"]);
        let place = self.place(event).filter(alike).or_else(|| self.open.keys().copied().find(alike));
        let open = place.and_then(|place| self.open.remove(&place));
        self.begun += usize::from(open.is_none());
        let arrived = open.as_ref().map_or(0, |open| open.body.len());
        self.add_bytes(item.to_string().len().saturating_sub(arrived))?;
        self.finished += 1;
        if open.is_none() {
            out.extend(call_name(item).map(|name| StreamEvent::CallStarted { name }));
        }
        let shown = open.as_ref().is_some_and(|open| !open.body.is_empty());
        let item = match open {
            Some(open) if is_hollow(item) && shown => open.into_item(),
            _ => item.clone(),
        };
        self.finish(item, shown, out);
        Ok(())
    }

    fn finish_open(&mut self, open: OpenItem, out: &mut Events) {
        let shown = !open.body.is_empty();
        self.finished += 1;
        self.finish(open.into_item(), shown, out);
    }

    /// `shown`: its deltas were shown.
    fn finish(&mut self, mut item: Value, shown: bool, out: &mut Events) {
        match item["type"].as_str().unwrap_or_default() {
            "message" => {
                let text = texts(&item["content"]).concat();
                if text.is_empty() {
                    return;
                }
                if !shown {
                    out.push(StreamEvent::TextDelta(text.clone()));
                }
                let phase = serde_json::from_value(item["phase"].take()).ok();
                out.push(StreamEvent::Item(Item::Assistant { text: text.into(), phase }));
            }
            "reasoning" => {
                let mut text = texts(&item["content"]).concat();
                if text.is_empty() {
                    text = texts(&item["summary"]).join("\n\n");
                }
                let sealed = item["encrypted_content"].as_str().is_some_and(|sealed| !sealed.is_empty());
                if text.is_empty() && !sealed {
                    return;
                }
                if !shown && !text.is_empty() {
                    out.push(StreamEvent::ReasoningDelta(text.clone()));
                }
                // Null fields have no meaning, and some servers refuse them later.
                if let Value::Object(fields) = &mut item {
                    fields.retain(|_, value| !value.is_null());
                }
                let opaque = Some(json!({"kind": OPAQUE_KIND, "item": item}));
                out.push(StreamEvent::Item(Item::Reasoning(Reasoning { text: text.into(), opaque })));
            }
            kind @ ("function_call" | "custom_tool_call") => {
                self.has_calls = true;
                let args = call_ids::argument_text(&item[argument_field(kind)]);
                // We offer no free-text tools; text that some models send is an argument of ours.
                let is_free = kind == "custom_tool_call" && !args.trim_start().starts_with('{');
                let args = if is_free { json!({"input": args}).to_string() } else { args };
                let id = item["call_id"].as_str().or(item["id"].as_str()).unwrap_or_default();
                out.push(StreamEvent::Item(Item::ToolCall(ToolCall {
                    id: self.state.ids.claim(id),
                    name: call_ids::bounded_name(item["name"].as_str().unwrap_or_default()),
                    args: args.into(),
                })));
            }
            // Items of server-side tools, which we never request.
            _ => {}
        }
    }

    /// Handles the end: usage, and the items if they weren't sent one by one.
    fn response(&mut self, response: &Value, out: &mut Events) -> Decoded {
        self.usage = read_usage(&response["usage"]).or(self.usage);
        if !response["error"].is_null() {
            return Err(self.state.error(&response["error"]));
        }
        let reason = match response["status"].as_str() {
            Some("failed") => {
                return Err(self.state.error(&json!({"message": "the model's server stopped responding"})));
            }
            Some("incomplete") => response["incomplete_details"]["reason"].as_str().unwrap_or("incomplete"),
            None | Some("completed") => "stop",
            Some(other) => other,
        };
        let items = response["output"].as_array().filter(|items| self.finished == 0 && !items.is_empty());
        for (place, item) in (0u64..).zip(items.into_iter().flatten()) {
            self.done(&json!({"output_index": place, "item": item}), out)?;
        }
        self.state.finish_with(reason)
    }
}

impl OpenItem {
    fn new(item: Value) -> Self {
        Self { item, body: String::new(), field: "summary" }
    }

    fn is(&self, kind: &str) -> bool {
        self.item["type"] == kind
    }

    fn into_item(self) -> Value {
        let Self { mut item, body, field } = self;
        if body.is_empty() {
            return item;
        }
        match item["type"].as_str().unwrap_or_default() {
            "message" => item["content"] = json!([{"type": "output_text", "text": body}]),
            "reasoning" => {
                // It may be incomplete until its end.
                item["encrypted_content"] = Value::Null;
                item["summary"] = json!([]);
                let part = if field == "summary" { "summary_text" } else { "reasoning_text" };
                item[field] = json!([{"type": part, "text": body}]);
            }
            kind => {
                let field = argument_field(kind);
                item[field] = json!(body);
            }
        }
        item
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Events) -> Flow {
        match event.data.trim() {
            "" => return Ok(ControlFlow::Continue(())),
            // Imitators end with this, some without a finish reason.
            "[DONE]" if !self.state.understood => return Ok(ControlFlow::Continue(())),
            "[DONE]" => {
                self.close(out);
                return Ok(ControlFlow::Break(()));
            }
            _ => {}
        }
        let data = parse(&event.data)?;
        let kind = data["type"].as_str().unwrap_or(&event.name);
        self.state.understood |= kind.starts_with("response.");
        self.state.foreign |= data["choices"].is_array() || kind.starts_with("message_");
        // The error itself, or a wrapper; proxies insert their own errors, without a type.
        match &data["error"] {
            Value::Null if kind == "error" => return Err(self.state.error(&data)),
            Value::Null => {}
            error => return Err(self.state.error(error)),
        }
        match kind {
            "response.output_item.added" => self.begin(&data, out)?,
            "response.output_item.done" => self.done(&data, out)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                self.delta(&data, "message", "content", out)?;
            }
            "response.reasoning_summary_text.delta" => self.delta(&data, "reasoning", "summary", out)?,
            "response.reasoning_text.delta" => self.delta(&data, "reasoning", "content", out)?,
            "response.reasoning_summary_part.added" if data["summary_index"].as_u64() > Some(0) => {
                self.delta(
                    &json!({"output_index": data["output_index"], "item_id": data["item_id"], "delta": "\n\n"}),
                    "reasoning",
                    "summary",
                    out,
                )?;
            }
            "response.function_call_arguments.delta" => {
                self.delta(&data, "function_call", "arguments", out)?
            }
            "response.custom_tool_call_input.delta" => self.delta(&data, "custom_tool_call", "input", out)?,
            "response.completed" | "response.incomplete" | "response.failed" | "response.done" => {
                self.response(&data["response"], out)?;
                self.close(out);
                return Ok(ControlFlow::Break(()));
            }
            // Repeats of the deltas, and future types.
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn whole(&mut self, reply: &Value, out: &mut Events) -> Decoded {
        let reply = reply.get(0).unwrap_or(reply);
        if !reply["output"].is_array() && reply["error"].is_null() {
            return Err(ProviderError::Protocol("the JSON is not a response".to_owned()));
        }
        self.response(reply, out)
    }

    fn close(&mut self, out: &mut Events) {
        for open in std::mem::take(&mut self.open).into_values() {
            self.finish_open(open, out);
        }
        out.push(self.state.done(self.has_calls, self.usage));
    }

    fn state(&self) -> &ReplyState {
        &self.state
    }
}

fn call_name(item: &Value) -> Option<String> {
    let call = matches!(item["type"].as_str(), Some("function_call" | "custom_tool_call"));
    call.then(|| item["name"].as_str().unwrap_or_default().to_owned())
}

fn argument_field(kind: &str) -> &'static str {
    if kind == "custom_tool_call" { "input" } else { "arguments" }
}

fn is_hollow(item: &Value) -> bool {
    match item["type"].as_str().unwrap_or_default() {
        "message" => texts(&item["content"]).concat().is_empty(),
        "reasoning" => {
            item["encrypted_content"].is_null()
                && texts(&item["summary"]).is_empty()
                && texts(&item["content"]).is_empty()
        }
        kind => matches!(&item[argument_field(kind)], Value::Null) || item[argument_field(kind)] == "",
    }
}

fn texts(parts: &Value) -> Vec<&str> {
    match parts {
        Value::String(text) => vec![text],
        parts => {
            let parts = parts.as_array().into_iter().flatten();
            parts.filter_map(|part| part["text"].as_str().or(part["refusal"].as_str())).collect()
        }
    }
}

pub fn read_usage(usage: &Value) -> Option<Usage> {
    openai_usage(usage, "input_tokens", "output_tokens")
}
