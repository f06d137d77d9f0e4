//! A `Request` as a Chat Completions body. It depends only on the request and the server's demands, and
//! messages come last, so that a request that only grew starts with the same bytes.

use serde_json::{Map, Value, json};

use super::replay::Demands;
use crate::answer_format;
use crate::anthropic::body as cache;
use crate::call_ids;
use crate::wire::decoder::decimal;
use base::config::provider::models;
use base::model::call::ToolCall;
use base::model::fingerprint::Fingerprint;
use base::model::item::Reasoning;
use base::model::request::{Message, Request, reminder};

/// Uses the model table's demands. `strict`: OpenAI itself, which requires `max_completion_tokens` and refuses unknown fields.
pub fn body(request: &Request, strict: bool) -> String {
    body_for(request, strict, Demands::at(strict, &request.params.model))
}

pub fn body_for(request: &Request, strict: bool, demands: Demands) -> String {
    let params = &request.params;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(params.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    if let Some(limit) = params.max_output_tokens {
        let name = if strict { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.to_owned(), json!(limit));
    }
    if let Some(temperature) = params.temperature {
        body.insert("temperature".to_owned(), decimal(temperature));
    }
    if let Some(effort) = &params.reasoning_effort {
        let facts = models::facts(&params.model);
        let taken = facts.map_or(&**effort, |facts| facts.effort_for(effort));
        body.insert("reasoning_effort".to_owned(), json!(taken));
    }
    if demands.key {
        body.insert("prompt_cache_key".to_owned(), json!(Fingerprint::of_start(request)));
    }
    if let Some(format) = answer_format::openai_chat(params) {
        body.insert("response_format".to_owned(), format);
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.schema,
            }})
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    body.insert("messages".to_owned(), Value::Array(messages_for(request, demands)));
    Value::Object(body).to_string()
}

pub fn messages(request: &Request) -> Vec<Value> {
    messages_for(request, Demands::at(false, &request.params.model))
}

fn messages_for(request: &Request, demands: Demands) -> Vec<Value> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    let marks = if demands.marks { cache::marks(request, !request.system.is_empty()) } else { Vec::new() };
    let mut marked = Vec::new();
    if !request.system.is_empty() {
        let blocks: Vec<&str> = request.system.iter().map(|block| &*block.text).collect();
        messages.push(json!({"role": "system", "content": blocks.join("\n\n")}));
    }
    let mut turn = AssistantMessage::default();
    for (place, message) in request.messages.iter().enumerate() {
        match message {
            Message::Assistant(said) => turn.texts.push(&said.text),
            Message::Reasoning(reasoning) => turn.reasoning.push(reasoning),
            Message::Call(call) => turn.calls.push(call),
            Message::User(text) => {
                std::mem::take(&mut turn).push_to(&mut messages, demands);
                messages.push(json!({"role": "user", "content": text}));
            }
            Message::Image(image) => {
                std::mem::take(&mut turn).push_to(&mut messages, demands);
                let parts = json!([
                    {"type": "text", "text": image.placeholder("")},
                    {"type": "image_url", "image_url": {"url": image.data_url()}},
                ]);
                messages.push(json!({"role": "user", "content": parts}));
            }
            // Many servers' templates don't accept a system message in the middle.
            Message::System(text) => {
                std::mem::take(&mut turn).push_to(&mut messages, demands);
                messages.push(json!({"role": "user", "content": reminder(text)}));
            }
            Message::Result { call_id, text, .. } => {
                std::mem::take(&mut turn).push_to(&mut messages, demands);
                messages.push(json!({"role": "tool", "tool_call_id": call_id, "content": text}));
            }
        }
        if marks.contains(&(place + 1)) {
            marked.push(messages.len().saturating_sub(1));
        }
    }
    turn.push_to(&mut messages, demands);
    if demands.marks {
        mark(&mut messages, &marked, request.params.long_cache);
    }
    demands.arrange(messages)
}

/// Marks the system message and these, all but the last long-lived if `long`. All texts become parts, so that a mark changes
/// nothing else.
fn mark(messages: &mut [Value], marked: &[usize], long: bool) {
    for (place, message) in
        messages.iter_mut().enumerate().filter(|(_, message)| message["role"] != "assistant")
    {
        let system = message["role"] == "system";
        if let Some(text) = message["content"].as_str().filter(|text| !text.trim().is_empty()) {
            message["content"] = json!([{"type": "text", "text": text}]);
        }
        let texts = message["content"].as_array_mut().into_iter().flatten();
        let last = texts.filter(|part| part["type"] == "text").last();
        if let Some(part) = last.filter(|_| system || marked.contains(&place)) {
            cache::mark(part, long && marked.last() != Some(&place));
        }
    }
}

#[derive(Default)]
struct AssistantMessage<'a> {
    texts: Vec<&'a str>,
    reasoning: Vec<&'a Reasoning>,
    calls: Vec<&'a ToolCall>,
}

impl AssistantMessage<'_> {
    fn push_to(self, messages: &mut Vec<Value>, demands: Demands) {
        let texts: Vec<&str> = self.texts.into_iter().filter(|text| !text.is_empty()).collect();
        if texts.is_empty() && self.calls.is_empty() {
            return;
        }
        let content = if texts.is_empty() { Value::Null } else { json!(texts.join("\n\n")) };
        let mut message = json!({"role": "assistant", "content": content});
        let mut calls: Vec<Value> = self.calls.iter().map(|call| tool_call(call)).collect();
        demands.apply(&self.reasoning, &mut message, &mut calls);
        if !calls.is_empty() {
            message["tool_calls"] = Value::Array(calls);
        }
        messages.push(message);
    }
}

fn tool_call(call: &ToolCall) -> Value {
    json!({"id": call.id, "type": "function", "function": {
        "name": call_ids::safe_name(&call.name), "arguments": call_ids::arguments(call),
    }})
}
