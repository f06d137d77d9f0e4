//! A `Request` as a Messages body: roles alternate, results stand first in their user message, nothing is empty, and at
//! most four cache marks are set. Thinking goes back only where Anthropic's dialect made it, byte for byte.

use serde_json::{Map, Value, json};

use crate::model::call::ToolCall;
use crate::model::request::{Message, Params, Request, reminder};
use crate::provider::call_ids;
use crate::provider::wire::decoder::decimal;

/// The `kind` of our opaque reasoning blocks; the block itself is under `block`.
pub const OPAQUE_KIND: &str = "anthropic";

/// The output limit when the request names none: the dialect demands one, and every model since Claude 3.5 accepts this.
/// Long answers (a whole file written) need more; the configuration's model table sets `max_output_tokens`.
pub const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// The dialect's own limit of cache marks.
const MAX_MARKS: usize = 4;

/// The body as text. The messages come last, so that a request which only grew begins with the bytes of the one before
/// (but for the marks, which move).
pub fn body(request: &Request) -> String {
    let params = &request.params;
    let limit = params.max_output_tokens.unwrap_or(DEFAULT_MAX_TOKENS);
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(params.model));
    match thinking(params) {
        // The dialect wants the limit above the budget, which it includes, and no temperature beside thinking.
        Some(Thinking::Budget(budget)) => {
            body.insert("max_tokens".to_owned(), json!(limit + budget));
            body.insert("thinking".to_owned(), json!({"type": "enabled", "budget_tokens": budget}));
        }
        Some(Thinking::Effort(effort)) => {
            body.insert("max_tokens".to_owned(), json!(limit));
            body.insert("thinking".to_owned(), json!({"type": "adaptive"}));
            body.insert("output_config".to_owned(), json!({"effort": effort}));
        }
        None => {
            body.insert("max_tokens".to_owned(), json!(limit));
            if let Some(temperature) = params.temperature {
                body.insert("temperature".to_owned(), decimal(temperature));
            }
        }
    }
    body.insert("stream".to_owned(), json!(true));
    let system = system(request);
    let marks = marks(request, !system.is_empty());
    if !request.tools.is_empty() {
        let room = marks.len() + usize::from(!system.is_empty()) < MAX_MARKS;
        body.insert("tools".to_owned(), Value::Array(tools(request, room)));
    }
    if !system.is_empty() {
        body.insert("system".to_owned(), Value::Array(system));
    }
    body.insert("messages".to_owned(), Value::Array(messages(&request.messages, &marks)));
    Value::Object(body).to_string()
}

enum Thinking<'a> {
    Budget(u32),
    Effort(&'a str),
}

/// How much to think. Models up to 4.5 take a budget in tokens, later ones an effort.
fn thinking(params: &Params) -> Option<Thinking<'_>> {
    let effort = params.reasoning_effort.as_deref()?;
    let model = &*params.model;
    let by_budget = !model.starts_with("claude-")
        || model.starts_with("claude-3")
        || ["-4-0", "-4-1", "-4-5", "-4-20"].iter().any(|version| model.contains(version));
    match effort {
        "none" | "off" => None,
        _ if !by_budget => Some(Thinking::Effort(effort)),
        "minimal" | "low" => Some(Thinking::Budget(2_048)),
        "high" | "xhigh" | "max" => Some(Thinking::Budget(16_384)),
        _ => Some(Thinking::Budget(8_192)),
    }
}

fn system(request: &Request) -> Vec<Value> {
    let mut blocks: Vec<Value> = request
        .system
        .iter()
        .filter(|block| !block.text.trim().is_empty())
        .map(|block| json!({"type": "text", "text": block.text}))
        .collect();
    if let Some(last) = blocks.last_mut() {
        mark(last);
    }
    blocks
}

/// The tools' own mark is the first to go when there is no room: tools come before system in the cached prefix, so the
/// system's mark covers them.
fn tools(request: &Request, room: bool) -> Vec<Value> {
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}))
        .collect();
    if let Some(last) = tools.last_mut().filter(|_| room) {
        mark(last);
    }
    tools
}

/// The request's cache marks: the last ones that fit beside the system's.
fn marks(request: &Request, system: bool) -> Vec<usize> {
    let wanted: Vec<usize> = request.cache_marks.iter().copied().filter(|&count| count > 0).collect();
    let room = MAX_MARKS - usize::from(system);
    wanted[wanted.len().saturating_sub(room)..].to_vec()
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

/// A content block with the message that it came from.
struct ContentBlock {
    source: usize,
    user: bool,
    block: Value,
}

impl ContentBlock {
    fn is(&self, kind: &str) -> bool {
        self.block["type"] == kind
    }

    fn is_thinking(&self) -> bool {
        self.is("thinking") || self.is("redacted_thinking")
    }
}

fn messages(messages: &[Message], marks: &[usize]) -> Vec<Value> {
    let mut blocks: Vec<ContentBlock> = Vec::with_capacity(messages.len());
    for (source, message) in messages.iter().enumerate() {
        if let Some((user, block)) = block(message) {
            blocks.push(ContentBlock { source, user, block });
        }
    }
    // Thinking with nothing behind it (the answer broke off there, or was empty) makes the dialect refuse the history.
    let mut followed = false;
    for index in (0..blocks.len()).rev() {
        followed = match &blocks[index] {
            block if block.user => false,
            block if followed || !block.is_thinking() => true,
            _ => {
                blocks.remove(index);
                false
            }
        };
    }
    for &count in marks {
        // Thinking blocks cannot carry a mark; the one before them serves nearly as well.
        let markable = |block: &&mut ContentBlock| !block.is_thinking();
        if let Some(block) = blocks.iter_mut().rev().filter(|block| block.source < count).find(markable) {
            mark(&mut block.block);
        }
    }
    let mut grouped: Vec<Value> = Vec::new();
    if blocks.first().is_some_and(|first| !first.user) {
        // The dialect wants the user first.
        grouped.push(json!({"role": "user", "content": [{"type": "text", "text": "(continued)"}]}));
    }
    for group in blocks.chunk_by_mut(|one, next| one.user == next.user) {
        // Results must stand before any text of the user (a stable sort keeps both in order).
        group.sort_by_key(|block| block.user && !block.is("tool_result"));
        let role = if group[0].user { "user" } else { "assistant" };
        let content: Vec<Value> = group.iter_mut().map(|block| block.block.take()).collect();
        grouped.push(json!({"role": role, "content": content}));
    }
    grouped
}

/// The block and whether it is the user's; `None` for what must not be sent.
fn block(message: &Message) -> Option<(bool, Value)> {
    let text = |text: &str| (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
    Some(match message {
        Message::User(said) => (true, text(said)?),
        Message::Assistant(said) => (false, text(&said.text)?),
        Message::System(told) => (true, text(&reminder(told))?),
        Message::Reasoning(reasoning) => {
            let opaque = reasoning.opaque.as_ref().filter(|opaque| opaque["kind"] == OPAQUE_KIND)?;
            // The log may have been edited by hand.
            (false, Some(&opaque["block"]).filter(|block| block.is_object())?.clone())
        }
        Message::Call(call) => (false, tool_use(call)),
        Message::Result { call_id, text, error } => {
            let mut block =
                json!({"type": "tool_result", "tool_use_id": call_ids::safe_id(call_id), "content": text});
            if *error {
                block["is_error"] = json!(true);
            }
            (true, block)
        }
    })
}

fn tool_use(call: &ToolCall) -> Value {
    // The dialect wants an object; broken arguments are shown to the model as it wrote them.
    let input = call.parsed_args().unwrap_or_else(|_| json!({"_raw": call.args}));
    json!({
        "type": "tool_use", "id": call_ids::safe_id(&call.id), "name": call_ids::safe_name(&call.name), "input": input,
    })
}
