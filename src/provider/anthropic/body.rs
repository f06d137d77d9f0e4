//! A `Request` as a Messages body: roles alternate, results come first in their user message, nothing is empty. Thinking
//! is sent back only if it came from Anthropic's dialect, byte for byte. Based on platform.claude.com/docs (versioning,
//! thinking, preserved-thinking, mid-conversation-system-messages, prompt-caching) as of November 2026 and the types of the
//! `anthropic` package 2.12; see `config/models.toml`.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::answer_format;
use crate::call_ids;
use base::config::provider::models::{self, ModelFacts, Thinking};
use base::model::call::ToolCall;
use base::model::request::{Message, Params, Request, reminder};

/// The `kind` of our opaque reasoning; the block itself is in `block`.
pub const OPAQUE_KIND: &str = "anthropic";

/// Used if neither request nor model table has a limit, because it is required; all models since Claude 3.5 accept it.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

const MAX_MARKS: usize = 4;

/// The smallest thinking budget that the dialect accepts, in tokens.
const LEAST_BUDGET: u32 = 1_024;

/// Messages come last, so that a longer request starts the same. This API version refuses sampling parameters.
pub fn body(request: &Request) -> String {
    let params = &request.params;
    let facts = models::facts(&params.model);
    let most = facts.and_then(|facts| facts.output);
    let known = facts.and_then(ModelFacts::reply_tokens);
    let limit = params.max_output_tokens.or(known).unwrap_or(DEFAULT_MAX_TOKENS);
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(params.model));
    let thinking = thinking(params, facts);
    // The limit includes the budget, so it must be larger.
    let budget =
        thinking["budget_tokens"].as_u64().and_then(|budget| u32::try_from(budget).ok()).unwrap_or(0);
    let limit = (limit + budget).min(most.unwrap_or(u32::MAX));
    body.insert("max_tokens".to_owned(), json!(limit));
    let fits = budget == 0 || limit > LEAST_BUDGET && !continues_without_thinking(request);
    if thinking.is_object() && fits {
        let mut thinking = thinking;
        if budget >= limit {
            thinking["budget_tokens"] = json!((limit / 2).max(LEAST_BUDGET));
        }
        body.insert("thinking".to_owned(), thinking);
    }
    let effort = effort(params, facts).map(|effort| ("effort".to_owned(), json!(effort)));
    let format = answer_format::anthropic(params).map(|format| ("format".to_owned(), format));
    let output: Map<String, Value> = effort.into_iter().chain(format).collect();
    if !output.is_empty() {
        body.insert("output_config".to_owned(), Value::Object(output));
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
    let in_middle = facts.is_some_and(|facts| facts.system_messages);
    let marks = Marks { counts: marks, long: params.long_cache };
    body.insert("messages".to_owned(), Value::Array(messages(&request.messages, &marks, in_middle)));
    Value::Object(body).to_string()
}

/// Null if unspecified. Thinking is shown, because newer models put the text between calls there.
fn thinking(params: &Params, facts: Option<&ModelFacts>) -> Value {
    let effort = params.reasoning_effort.as_deref();
    let off = matches!(effort, Some("none" | "off"));
    match (facts.map_or(Thinking::None, |facts| facts.thinking), off) {
        (Thinking::None | Thinking::Budget, _) => match effort {
            None | Some("none" | "off") => Value::Null,
            Some("minimal" | "low") => json!({"type": "enabled", "budget_tokens": 2_048}),
            Some("high" | "xhigh" | "max") => json!({"type": "enabled", "budget_tokens": 16_384}),
            Some(_) => json!({"type": "enabled", "budget_tokens": 8_192}),
        },
        (Thinking::Ask, true) => Value::Null,
        (Thinking::On, true) => json!({"type": "disabled"}),
        (Thinking::Between, true) => json!({"type": "between_tools"}),
        (Thinking::Ask | Thinking::On | Thinking::Between, false) | (Thinking::Always, _) => {
            json!({"type": "adaptive", "display": "summarized"})
        }
    }
}

fn effort<'a>(params: &'a Params, facts: Option<&'a ModelFacts>) -> Option<&'a str> {
    let facts = facts.filter(|facts| !facts.effort.is_empty())?;
    match params.reasoning_effort.as_deref()? {
        "none" | "off" if facts.thinking == Thinking::Always => Some("low"),
        "none" | "off" => None,
        effort => Some(facts.effort_for(effort)),
    }
}

/// Whether the current tool round started without thinking; the dialect then refuses a budget for the rest of the round.
fn continues_without_thinking(request: &Request) -> bool {
    let messages = request.messages.iter().rev();
    let ours = |message: &&Message| {
        !matches!(message, Message::User(_) | Message::System(_) | Message::Result { .. } | Message::Image(_))
    };
    let mut reply = messages.skip_while(|message| !ours(message)).take_while(ours).peekable();
    let called = reply.peek().is_some_and(|last| matches!(last, Message::Call(_)));
    called && !matches!(reply.last(), Some(message @ Message::Reasoning(_)) if block(message).is_some())
}

fn system(request: &Request) -> Vec<Value> {
    let mut blocks: Vec<Value> = request
        .system
        .iter()
        .filter(|block| !block.text.trim().is_empty())
        .map(|block| json!({"type": "text", "text": block.text}))
        .collect();
    if let Some(last) = blocks.last_mut() {
        mark(last, request.params.long_cache);
    }
    blocks
}

/// Without `room`, there is no mark for the tools, because the system's mark also covers them.
fn tools(request: &Request, room: bool) -> Vec<Value> {
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}))
        .collect();
    if let Some(last) = tools.last_mut().filter(|_| room) {
        mark(last, request.params.long_cache);
    }
    tools
}

/// The last of the request's marks that fit in addition to the system's.
pub fn marks(request: &Request, system: bool) -> Vec<usize> {
    let wanted: Vec<usize> = request.cache_marks.iter().copied().filter(|&count| count > 0).collect();
    let room = MAX_MARKS - usize::from(system);
    wanted[wanted.len().saturating_sub(room)..].to_vec()
}

pub fn mark(block: &mut Value, long: bool) {
    block["cache_control"] = json!({"type": "ephemeral"});
    if long {
        block["cache_control"]["ttl"] = json!("1h");
    }
}

/// The prefix is cached up to these messages. All marks but the last may be long-lived, which must come first.
struct Marks {
    counts: Vec<usize>,
    long: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Role {
    User,
    Assistant,
    System,
}

struct ContentBlock {
    source: usize,
    role: Role,
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

/// `in_middle`: the model accepts system messages between others.
fn messages(messages: &[Message], marks: &Marks, in_middle: bool) -> Vec<Value> {
    let mut blocks: Vec<ContentBlock> = Vec::with_capacity(messages.len());
    for (source, message) in messages.iter().enumerate() {
        if let Some((role, block)) = block(message) {
            blocks.push(ContentBlock { source, role, block });
        }
    }
    // Thinking with nothing after it (an incomplete or empty answer) makes the server refuse the history.
    let mut followed = false;
    for index in (0..blocks.len()).rev() {
        followed = match &blocks[index] {
            block if block.role != Role::Assistant => false,
            block if followed || !block.is_thinking() => true,
            _ => {
                blocks.remove(index);
                false
            }
        };
    }
    // A system message must follow what the user says, and precede the reply or the end.
    for index in (0..blocks.len()).rev() {
        let next = blocks.get(index + 1).map(|next| next.role);
        let stands =
            in_middle && index > 0 && next != Some(Role::User) && blocks[index - 1].role != Role::Assistant;
        let block = &mut blocks[index];
        if block.role == Role::System && !stands {
            block.role = Role::User;
            block.block["text"] = json!(reminder(block.block["text"].as_str().unwrap_or_default()));
        }
    }
    for (number, &count) in marks.counts.iter().enumerate() {
        // Thinking blocks can't have a mark; the block before them is almost as good.
        let markable = |block: &&mut ContentBlock| !block.is_thinking() && block.role != Role::System;
        if let Some(block) = blocks.iter_mut().rev().filter(|block| block.source < count).find(markable) {
            mark(&mut block.block, marks.long && number + 1 < marks.counts.len());
        }
    }
    let mut grouped: Vec<Value> = Vec::new();
    if blocks.first().is_some_and(|first| first.role != Role::User) {
        // The dialect requires the user first.
        grouped.push(json!({"role": "user", "content": [{"type": "text", "text": "(continued)"}]}));
    }
    for group in blocks.chunk_by_mut(|one, next| one.role == next.role) {
        // Results must come before any text of the user (the sort is stable).
        group.sort_by_key(|block| block.role == Role::User && !block.is("tool_result"));
        let content: Vec<Value> = group.iter_mut().map(|block| block.block.take()).collect();
        grouped.push(json!({"role": group[0].role, "content": content}));
    }
    grouped
}

fn block(message: &Message) -> Option<(Role, Value)> {
    let text = |text: &str| (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
    Some(match message {
        Message::User(said) => (Role::User, text(said)?),
        Message::System(told) => (Role::System, text(told)?),
        Message::Assistant(said) => (Role::Assistant, text(&said.text)?),
        Message::Reasoning(reasoning) => {
            let opaque = reasoning.opaque.as_ref().filter(|opaque| opaque["kind"] == OPAQUE_KIND)?;
            // The log may have been edited by hand.
            (Role::Assistant, Some(&opaque["block"]).filter(|block| block.is_object())?.clone())
        }
        Message::Call(call) => (Role::Assistant, tool_use(call)),
        Message::Image(image) => {
            let source = json!({"type": "base64", "media_type": image.media_type, "data": image.data});
            (Role::User, json!({"type": "image", "source": source}))
        }
        Message::Result { call_id, text, error } => {
            let mut block =
                json!({"type": "tool_result", "tool_use_id": call_ids::safe_id(call_id), "content": text});
            if *error {
                block["is_error"] = json!(true);
            }
            (Role::User, block)
        }
    })
}

fn tool_use(call: &ToolCall) -> Value {
    // The dialect requires an object; the result shows the model its broken arguments.
    let input = call.parsed_args().unwrap_or_else(|_| json!({}));
    json!({
        "type": "tool_use", "id": call_ids::safe_id(&call.id), "name": call_ids::safe_name(&call.name), "input": input,
    })
}
