//! A `Request` as a Responses body. The server stores nothing, so every request has the full conversation,
//! with reasoning as the server encrypted it. The input comes last and depends only on the request, so that a
//! grown request starts with the same bytes. No cache breakpoints, because these models set their own.
//! Facts: the `openai` package 3.54.0 for Python (`types/responses`), November 2026. For imitators:
//! github.com/openai/codex/issues/12669 (vLLM wants assistant text as a full output message),
//! ggml-org/llama.cpp `convert_responses_to_chatcmpl` (no assistant text as a string),
//! Azure/azure-sdk-for-net/issues/59967 (reasoning must keep its id), vercel/ai/issues/7543 (reasoning
//! without its encrypted content isn't found).

use serde_json::{Map, Value, json};

use crate::answer_format;
use crate::call_ids;
use crate::wire::address::Host;
use crate::wire::decoder::decimal;
use base::config::provider::models::{self, Api};
use base::config::settings::Binding;
use base::model::call::ToolCall;
use base::model::fingerprint::Fingerprint;
use base::model::item::Reasoning;
use base::model::request::{AssistantText, Message, Params, Request, reminder};

/// The `kind` of our opaque reasoning; the item itself is in `item`.
pub const OPAQUE_KIND: &str = "openai-responses";

/// OpenAI's limit, in bytes. If the session started with another server, ids can be longer.
const MAX_CALL_ID_BYTES: usize = 64;

pub fn body(request: &Request, host: Host) -> String {
    let params = &request.params;
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(params.model));
    body.insert("stream".to_owned(), json!(true));
    body.insert("store".to_owned(), json!(false));
    let off = params.reasoning_effort.as_deref() == Some("none");
    let reasons = reasons(params, host);
    if reasons.encrypted {
        body.insert("include".to_owned(), json!(["reasoning.encrypted_content"]));
    }
    if reasons.at_all {
        let facts = models::facts(&params.model);
        let taken = |effort| facts.map_or(effort, |facts| facts.effort_for(effort));
        let effort = params.reasoning_effort.as_deref().map(taken);
        let mut reasoning = effort.map_or_else(|| json!({}), |effort| json!({"effort": effort}));
        if !off {
            reasoning["summary"] = json!("auto");
        }
        body.insert("reasoning".to_owned(), reasoning);
    }
    // By default, GPT models write more than a terminal needs.
    let made_for_it = models::facts(&params.model).is_some_and(|facts| facts.api == Api::Responses);
    let verbosity = params.verbosity.as_deref().or(made_for_it.then_some("low"));
    let verbosity = verbosity.map(|verbosity| ("verbosity".to_owned(), json!(verbosity)));
    let format = answer_format::openai(params).map(|format| ("format".to_owned(), format));
    let text: Map<String, Value> = verbosity.into_iter().chain(format).collect();
    if !text.is_empty() {
        body.insert("text".to_owned(), Value::Object(text));
    }
    // A plan's requests can't have some fields, and need their tools in the input.
    let plan = host == Host::Plan;
    if let Some(limit) = params.max_output_tokens.filter(|_| !plan) {
        body.insert("max_output_tokens".to_owned(), json!(limit));
    }
    if let Some(temperature) = params.temperature.filter(|_| !plan && (off || !reasons.at_all)) {
        body.insert("temperature".to_owned(), decimal(temperature));
    }
    let system: Vec<&str> = request.system.iter().map(|block| &*block.text).collect();
    if matches!(host, Host::Openai | Host::Plan) {
        body.insert("prompt_cache_key".to_owned(), json!(Fingerprint::of_start(request)));
    }
    if !system.is_empty() {
        body.insert("instructions".to_owned(), json!(system.join("\n\n")));
    }
    let tools = request.tools.iter().map(|tool| {
        json!({
            "type": "function", "name": tool.name, "description": tool.description,
            "parameters": tool.schema, "strict": false,
        })
    });
    let tools: Vec<Value> = tools.collect();
    let mut input = input(&request.messages, host);
    if plan && !tools.is_empty() {
        input.insert(0, json!({"type": "additional_tools", "role": "developer", "tools": tools}));
    } else if !tools.is_empty() {
        body.insert("tools".to_owned(), Value::Array(tools));
        body.insert("parallel_tool_calls".to_owned(), json!(true));
    }
    body.insert("input".to_owned(), Value::Array(input));
    Value::Object(body).to_string()
}

struct Reasons {
    at_all: bool,
    encrypted: bool,
}

/// Models without reasoning refuse a request for it.
fn reasons(params: &Params, host: Host) -> Reasons {
    let (at_all, bound) = match models::facts(&params.model) {
        Some(facts) => {
            let bound = facts.binding != Binding::None;
            (bound || !facts.effort.is_empty(), bound)
        }
        // `o1`, `o5-mini`, or any model if the user set an effort.
        None => {
            let mut name = params.model.bytes();
            let family = name.next() == Some(b'o') && name.next().is_some_and(|byte| byte.is_ascii_digit());
            (family || params.reasoning_effort.is_some(), false)
        }
    };
    Reasons { at_all, encrypted: at_all && (bound || host != Host::Other) }
}

fn input(messages: &[Message], host: Host) -> Vec<Value> {
    let mut input: Vec<Value> = Vec::with_capacity(messages.len());
    for (place, message) in messages.iter().enumerate() {
        input.extend(item(place, message, host));
    }
    // Reasoning with nothing after it (an incomplete answer) makes the server refuse the request.
    let mut followed = false;
    for index in (0..input.len()).rev() {
        let item = &input[index];
        let made = item["role"] == "assistant" || item["type"] == "function_call";
        if item["type"] != "reasoning" {
            followed = made;
        } else if !followed {
            input.remove(index);
        }
    }
    input
}

fn item(place: usize, message: &Message, host: Host) -> Option<Value> {
    let said = |role: &str, text: &str| {
        let content = json!([{"type": "input_text", "text": text}]);
        (!text.trim().is_empty()).then(|| json!({"type": "message", "role": role, "content": content}))
    };
    match message {
        Message::User(text) => said("user", text),
        Message::System(text) if host.is_strict() => said("developer", text),
        // Many local models' templates don't accept it in the middle.
        Message::System(text) => said("user", &reminder(text)),
        Message::Assistant(text) => assistant(place, text, host),
        Message::Reasoning(reasoning) => replayed(reasoning, host),
        Message::Call(call) => Some(function_call(call)),
        Message::Image(image) => {
            let content = json!([
                {"type": "input_text", "text": image.placeholder("")},
                {"type": "input_image", "image_url": image.data_url(), "detail": "auto"},
            ]);
            Some(json!({"type": "message", "role": "user", "content": content}))
        }
        Message::Result { call_id: id, text, .. } => {
            Some(json!({"type": "function_call_output", "call_id": call_id(id), "output": text}))
        }
    }
}

/// OpenAI accepts a form without ids, and invented ids could be looked up there. Imitators require ids.
fn assistant(place: usize, said: &AssistantText, host: Host) -> Option<Value> {
    if said.text.trim().is_empty() {
        return None;
    }
    let mut message = if host.is_strict() {
        json!({"type": "message", "role": "assistant", "content": said.text})
    } else {
        let content = json!([{"type": "output_text", "text": said.text, "annotations": []}]);
        json!({
            "type": "message", "id": format!("msg_{place}"), "role": "assistant", "status": "completed",
            "content": content,
        })
    };
    if let Some(phase) = said.phase {
        message["phase"] = json!(phase);
    }
    Some(message)
}

fn replayed(reasoning: &Reasoning, host: Host) -> Option<Value> {
    let opaque = reasoning.opaque.as_ref().filter(|opaque| opaque["kind"] == OPAQUE_KIND)?;
    // The log may have been edited by hand.
    let item = Some(&opaque["item"]).filter(|item| item["type"] == "reasoning")?;
    let has = |key: &str| match &item[key] {
        Value::String(text) => !text.is_empty(),
        Value::Array(parts) => !parts.is_empty(),
        _ => false,
    };
    let usable = has("encrypted_content") || !host.is_strict() && (has("content") || has("summary"));
    usable.then(|| item.clone())
}

fn function_call(call: &ToolCall) -> Value {
    json!({
        "type": "function_call", "call_id": call_id(&call.id), "name": call_ids::safe_name(&call.name),
        "arguments": call_ids::arguments(call),
    })
}

fn call_id(id: &str) -> String {
    if id.len() <= MAX_CALL_ID_BYTES { id.to_owned() } else { format!("call_{}", Fingerprint::of(&id)) }
}
