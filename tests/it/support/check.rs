//! What every request must obey, whoever sent it: calls and results pair up, roles alternate where they must, nothing
//! is empty that may not be. The real servers answer a breach with status 400, often many turns later.

use std::collections::BTreeSet;

use serde_json::Value;

use super::answer::Dialect;
use super::responses;

/// Everything that is wrong with `body`.
pub fn check(dialect: Dialect, body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    // A search of the web is a request of its own, whole and without a conversation.
    let tools = body["tools"].as_array().into_iter().flatten();
    if tools.flat_map(|tool| tool["type"].as_str()).any(|kind| kind.contains("web_search")) {
        return faults;
    }
    let key = if dialect == Dialect::Responses { "input" } else { "messages" };
    let messages = body[key].as_array().cloned().unwrap_or_default();
    if messages.is_empty() {
        faults.push("there are no messages".to_owned());
    }
    if body["stream"] != true {
        faults.push("no stream is asked for".to_owned());
    }
    if messages.last().is_some_and(|last| last["role"] == "assistant") {
        faults.push("the last message is the assistant's".to_owned());
    }
    match dialect {
        Dialect::Chat => chat(&messages, &mut faults),
        Dialect::Responses => responses::check(body, &messages, &mut faults),
        Dialect::Anthropic => anthropic(body, &messages, &mut faults),
    }
    faults
}

pub fn valid_name(name: &Value) -> bool {
    name.as_str().is_some_and(|name| {
        (1..=64).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    })
}

/// The text of a message, which is one part where caches are marked.
fn said(content: &Value) -> Option<&str> {
    content.as_str().or(content[0]["text"].as_str())
}

fn chat(messages: &[Value], faults: &mut Vec<String>) {
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (place, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if !open.remove(id) {
                faults.push(format!("message {place}: a result for '{id}', which no open call has"));
            }
            if said(&message["content"]).is_none() {
                faults.push(format!("message {place}: a result without text"));
            }
            continue;
        }
        for id in std::mem::take(&mut open) {
            faults.push(format!("message {place}: the call '{id}' before it has no result"));
        }
        let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
        for call in &calls {
            let id = call["id"].as_str().unwrap_or_default().to_owned();
            if id.is_empty() || !seen.insert(id.clone()) {
                faults.push(format!("message {place}: the call id '{id}' is empty or repeated"));
            }
            if !valid_name(&call["function"]["name"]) {
                faults.push(format!(
                    "message {place}: the call name {} is not allowed",
                    call["function"]["name"]
                ));
            }
            let args = call["function"]["arguments"].as_str().unwrap_or_default();
            if !serde_json::from_str::<Value>(args).is_ok_and(|args| args.is_object()) {
                faults.push(format!("message {place}: the arguments of '{id}' are no JSON object"));
            }
            open.insert(id);
        }
        let content = &message["content"];
        let sees = content[1]["image_url"]["url"].as_str().is_some_and(|url| url.starts_with("data:image/"));
        let has_text = sees || said(content).is_some_and(|text| !text.trim().is_empty());
        if !has_text && calls.is_empty() {
            faults.push(format!("message {place}: the {role} message is empty"));
        }
        if role == "system" && place > 0 {
            faults.push(format!("message {place}: a system message in the middle"));
        }
    }
    for id in open {
        faults.push(format!("the call '{id}' at the end has no result"));
    }
}

fn anthropic(body: &Value, messages: &[Value], faults: &mut Vec<String>) {
    if !body["max_tokens"].is_u64() {
        faults.push("max_tokens is missing".to_owned());
    }
    let marks = body.to_string().matches("\"cache_control\":{\"type\"").count();
    if marks > 4 {
        faults.push(format!("{marks} cache marks; 4 are allowed"));
    }
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut before = "assistant";
    for (place, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let right = match before {
            "user" => role == "assistant" || role == "system",
            "system" => role == "assistant",
            _ => role == "user",
        };
        if !right {
            faults.push(format!("message {place}: role {role} behind {before}"));
        }
        before = role;
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        if blocks.is_empty() {
            faults.push(format!("message {place}: it is empty"));
        }
        let mut text_seen = false;
        for block in &blocks {
            match block["type"].as_str().unwrap_or_default() {
                "text" => {
                    text_seen = true;
                    if block["text"].as_str().unwrap_or_default().trim().is_empty() {
                        faults.push(format!("message {place}: an empty text block"));
                    }
                }
                "image" => {
                    text_seen = true;
                    if block["source"]["data"].as_str().unwrap_or_default().is_empty() {
                        faults.push(format!("message {place}: an image without data"));
                    }
                }
                "tool_result" => {
                    let id = block["tool_use_id"].as_str().unwrap_or_default();
                    if !open.remove(id) {
                        faults.push(format!("message {place}: a result for '{id}', which no open call has"));
                    }
                    if text_seen {
                        faults.push(format!("message {place}: a result behind text"));
                    }
                }
                "tool_use" => {
                    let id = block["id"].as_str().unwrap_or_default().to_owned();
                    if id.is_empty() || !seen.insert(id.clone()) {
                        faults.push(format!("message {place}: the call id '{id}' is empty or repeated"));
                    }
                    if !valid_name(&block["name"]) || !block["input"].is_object() {
                        faults.push(format!("message {place}: the call '{id}' has a bad name or input"));
                    }
                    open.insert(id);
                }
                "thinking" | "redacted_thinking" => {
                    if !block["cache_control"].is_null() {
                        faults.push(format!("message {place}: a cache mark on thinking"));
                    }
                }
                other => faults.push(format!("message {place}: a block of type '{other}'")),
            }
        }
        let last = blocks.last().map_or("", |block| block["type"].as_str().unwrap_or_default());
        if last.ends_with("thinking") {
            faults.push(format!("message {place}: thinking at its end"));
        }
        if message["role"] == "user" {
            for id in std::mem::take(&mut open) {
                faults.push(format!("message {place}: it lacks the result of '{id}'"));
            }
        }
    }
    for id in open {
        faults.push(format!("the call '{id}' at the end has no result"));
    }
}
