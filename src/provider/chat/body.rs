//! A `Request` as a Chat Completions body. The bytes depend on the request alone, and the messages come last, so that a
//! request which only grew begins with the bytes of the one before.
//!
//! Thinking is sent back only where a server of this dialect made it, under the field name that it used, and only in
//! messages that also hold calls: DeepSeek, Kimi and GLM want it back while a turn runs through its calls and have no use
//! for that of a finished answer. The same goes for OpenRouter's `reasoning_details` and Gemini's `extra_content` (the
//! signature without which it refuses its own calls), which travel in the reasoning item's opaque part. A rule that depended on which turn is the running one would change old bytes, and with
//! them the server's prompt cache, at every new turn.

use serde_json::{Map, Value, json};

use crate::model::call::ToolCall;
use crate::model::item::Reasoning;
use crate::model::request::{Message, Request, reminder};
use crate::provider::call_ids;
use crate::provider::wire::decoder::decimal;

/// The `kind` of our opaque reasoning blocks.
pub const OPAQUE_KIND: &str = "openai-reasoning-content";

/// What the address tells about the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flavor {
    /// OpenAI's own service: wants `max_completion_tokens`, and refuses fields that it does not know.
    pub strict: bool,
}

/// The body as text.
pub fn body(request: &Request, flavor: Flavor) -> String {
    let params = &request.params;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(params.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    if let Some(limit) = params.max_output_tokens {
        let name = if flavor.strict { "max_completion_tokens" } else { "max_tokens" };
        body.insert(name.to_owned(), json!(limit));
    }
    if let Some(temperature) = params.temperature {
        body.insert("temperature".to_owned(), decimal(temperature));
    }
    if let Some(effort) = &params.reasoning_effort {
        body.insert("reasoning_effort".to_owned(), json!(effort));
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            json!({"type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.schema,
            }})
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    body.insert("messages".to_owned(), Value::Array(messages(request, flavor)));
    Value::Object(body).to_string()
}

/// The messages as this dialect sends them.
pub fn messages(request: &Request, flavor: Flavor) -> Vec<Value> {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        let blocks: Vec<&str> = request.system.iter().map(|block| &*block.text).collect();
        messages.push(json!({"role": "system", "content": blocks.join("\n\n")}));
    }
    let mut turn = AssistantMessage::default();
    for message in &request.messages {
        match message {
            Message::Assistant(said) => turn.texts.push(&said.text),
            Message::Reasoning(reasoning) => turn.reasoning.push(reasoning),
            Message::Call(call) => turn.calls.push(call),
            Message::User(text) => {
                std::mem::take(&mut turn).push_to(&mut messages, flavor);
                messages.push(json!({"role": "user", "content": text}));
            }
            // A system message in the middle is more than many servers' templates take.
            Message::System(text) => {
                std::mem::take(&mut turn).push_to(&mut messages, flavor);
                messages.push(json!({"role": "user", "content": reminder(text)}));
            }
            Message::Result { call_id, text, .. } => {
                std::mem::take(&mut turn).push_to(&mut messages, flavor);
                messages.push(json!({"role": "tool", "tool_call_id": call_id, "content": text}));
            }
        }
    }
    turn.push_to(&mut messages, flavor);
    messages
}

/// Neighbors that make one assistant message.
#[derive(Default)]
struct AssistantMessage<'a> {
    texts: Vec<&'a str>,
    reasoning: Vec<&'a Reasoning>,
    calls: Vec<&'a ToolCall>,
}

impl AssistantMessage<'_> {
    fn push_to(self, messages: &mut Vec<Value>, flavor: Flavor) {
        let texts: Vec<&str> = self.texts.into_iter().filter(|text| !text.is_empty()).collect();
        if texts.is_empty() && self.calls.is_empty() {
            return;
        }
        let content = if texts.is_empty() { Value::Null } else { json!(texts.join("\n\n")) };
        let mut message = json!({"role": "assistant", "content": content});
        if !self.calls.is_empty() {
            let mut calls: Vec<Value> = self.calls.iter().map(|call| tool_call(call)).collect();
            if !flavor.strict {
                for reasoning in self.reasoning {
                    if let Some(opaque) =
                        &reasoning.opaque.as_ref().filter(|opaque| opaque["kind"] == OPAQUE_KIND)
                    {
                        replay(reasoning, opaque, &mut message, &mut calls);
                    }
                }
            }
            message["tool_calls"] = Value::Array(calls);
        }
        messages.push(message);
    }
}

/// Puts thinking, and what else the server wants back, where it came from.
fn replay(reasoning: &Reasoning, opaque: &Value, message: &mut Value, calls: &mut [Value]) {
    let field = match (&opaque["details"], opaque["field"].as_str()) {
        (details @ Value::Array(_), _) => {
            message["reasoning_details"] = details.clone();
            None
        }
        _ if reasoning.text.is_empty() => None,
        (_, Some("reasoning")) => Some("reasoning"),
        _ => Some("reasoning_content"),
    };
    if let Some(field) = field {
        let earlier = message[field].as_str().unwrap_or_default();
        message[field] = json!(format!("{earlier}{}", reasoning.text));
    }
    for call in calls {
        if let Some(extra) = call["id"].as_str().and_then(|id| opaque["extras"].get(id)) {
            call["extra_content"] = extra.clone();
        }
    }
}

fn tool_call(call: &ToolCall) -> Value {
    // Several servers parse the arguments of old calls and refuse the whole request when they are no JSON object.
    let arguments = match call.parsed_args() {
        // Word for word where it can be.
        Ok(_) if call.args.trim_start().starts_with('{') => call.args.to_string(),
        Ok(args) => args.to_string(),
        Err(_) => json!({"_raw": call.args}).to_string(),
    };
    json!({"id": call.id, "type": "function", "function": {
        "name": call_ids::safe_name(&call.name), "arguments": arguments,
    }})
}
