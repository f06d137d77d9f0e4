//! The Responses dialect of the fake server: scripted answers as its events, and what its requests must obey.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::answer::{Part, halves};
use super::check::valid_name;

/// The finished items of an answer; `calls` are its calls with their ids.
fn output(parts: &[Part], calls: &[(String, &str, &str)], number: usize) -> Vec<Value> {
    let mut calls = calls.iter();
    let item = |(place, part): (usize, &Part)| match part {
        Part::Text(text) => {
            json!({"type": "message", "id": format!("msg_{number}_{place}"), "status": "completed",
            "role": "assistant", "phase": "final_answer",
            "content": [{"type": "output_text", "annotations": [], "logprobs": [], "text": text}]})
        }
        Part::Reasoning(text) => json!({"type": "reasoning", "id": format!("rs_{number}_{place}"),
            "summary": [{"type": "summary_text", "text": text}],
            "encrypted_content": format!("sealed-{number}-{place}")}),
        Part::Call { .. } => {
            let (id, name, args) = calls.next().unwrap();
            json!({"type": "function_call", "id": format!("fc_{number}_{place}"), "status": "completed",
                "call_id": id, "name": name, "arguments": args})
        }
    };
    parts.iter().enumerate().map(item).collect()
}

/// The response as a whole.
pub fn whole(
    parts: &[Part],
    calls: &[(String, &str, &str)],
    number: usize,
    finish: Option<&str>,
    usage: Option<(u64, u64, u64)>,
) -> Value {
    let mut response = json!({"id": format!("resp_{number}"), "object": "response", "model": "fake", "error": null,
        "incomplete_details": null, "status": "completed", "output": output(parts, calls, number), "usage": null});
    if let Some(reason) = finish {
        response["status"] = json!("incomplete");
        response["incomplete_details"] = json!({"reason": reason});
    }
    if let Some((input, cached, output)) = usage {
        response["usage"] = json!({"input_tokens": input, "output_tokens": output, "total_tokens": input + output,
            "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0}});
    }
    response
}

/// The events that stream it.
pub fn events(
    parts: &[Part],
    calls: &[(String, &str, &str)],
    number: usize,
    finish: Option<&str>,
    usage: Option<(u64, u64, u64)>,
) -> Vec<String> {
    let whole = whole(parts, calls, number, finish, usage);
    let mut begun = whole.clone();
    begun["status"] = json!("in_progress");
    begun["output"] = json!([]);
    begun["usage"] = Value::Null;
    let mut events = vec![
        json!({"type": "response.created", "response": begun}),
        json!({"type": "response.in_progress", "response": begun}),
    ];
    for (place, item) in whole["output"].as_array().unwrap().iter().enumerate() {
        let mut added = item.clone();
        let (delta, done, field, key, text) = match item["type"].as_str().unwrap() {
            "message" => {
                added["content"] = json!([]);
                let text = &item["content"][0]["text"];
                ("output_text.delta", "output_text.done", "text", "content_index", text)
            }
            "reasoning" => {
                added["summary"] = json!([]);
                added["encrypted_content"] = json!("half of");
                let text = &item["summary"][0]["text"];
                ("reasoning_summary_text.delta", "reasoning_summary_text.done", "text", "summary_index", text)
            }
            _ => {
                added["arguments"] = json!("");
                let text = &item["arguments"];
                ("function_call_arguments.delta", "function_call_arguments.done", "arguments", "", text)
            }
        };
        if item["type"] != "reasoning" {
            added["status"] = json!("in_progress");
        }
        let at = |kind: &str, field: &str, value: &Value| {
            let mut event =
                json!({"type": format!("response.{kind}"), "item_id": item["id"], "output_index": place});
            event[field] = value.clone();
            if !key.is_empty() {
                event[key] = json!(0);
            }
            event
        };
        events.push(json!({"type": "response.output_item.added", "output_index": place, "item": added}));
        events.extend(halves(text.as_str().unwrap()).map(|half| at(delta, "delta", &json!(half))));
        events.push(at(done, field, text));
        events.push(json!({"type": "response.output_item.done", "output_index": place, "item": item}));
    }
    let last = if finish.is_some() { "response.incomplete" } else { "response.completed" };
    events.push(json!({"type": last, "response": whole}));
    let numbered = events.into_iter().enumerate().map(|(number, mut event)| {
        event["sequence_number"] = json!(number);
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
    });
    numbered.collect()
}

/// What every request must obey.
pub fn check(body: &Value, input: &[Value], faults: &mut Vec<String>) {
    if body["store"] != false {
        faults.push("the server would store it".to_owned());
    }
    for tool in body["tools"].as_array().into_iter().flatten() {
        if tool["type"] != "function" || !valid_name(&tool["name"]) || !tool["parameters"].is_object() {
            faults.push(format!("not a flat function tool: {tool}"));
        }
    }
    let mut open: BTreeSet<String> = BTreeSet::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for (place, item) in input.iter().enumerate() {
        let kind = item["type"].as_str().unwrap_or_default();
        let by_user = kind == "message" && item["role"] != "assistant";
        if by_user {
            for id in std::mem::take(&mut open) {
                faults.push(format!("item {place}: the call '{id}' before it has no output"));
            }
        }
        match kind {
            "message" => {
                let text =
                    item["content"].as_str().or(item["content"][0]["text"].as_str()).unwrap_or_default();
                if text.trim().is_empty() {
                    faults.push(format!("item {place}: an empty message"));
                }
                let part = item["content"][0]["type"].as_str().unwrap_or_default();
                if part != if by_user { "input_text" } else { "output_text" } && !item["content"].is_string()
                {
                    faults.push(format!("item {place}: a part of type '{part}' in it"));
                }
            }
            "reasoning" => {
                let next = input
                    .get(place + 1)
                    .map(|next| (next["type"].as_str().unwrap_or_default(), &next["role"]));
                let paired = next.is_some_and(|(kind, role)| {
                    matches!(kind, "reasoning" | "function_call") || kind == "message" && role == "assistant"
                });
                if !paired {
                    faults.push(format!("item {place}: reasoning without its required following item"));
                }
                if item["encrypted_content"] == "half of" {
                    faults.push(format!("item {place}: reasoning that had not ended"));
                }
            }
            "function_call" => {
                let id = item["call_id"].as_str().unwrap_or_default().to_owned();
                if id.is_empty() || id.len() > 64 || !seen.insert(id.clone()) {
                    faults.push(format!("item {place}: the call id '{id}' is empty, long or repeated"));
                }
                let args = item["arguments"].as_str().unwrap_or_default();
                let object = serde_json::from_str::<Value>(args).is_ok_and(|args| args.is_object());
                if !valid_name(&item["name"]) || !object {
                    faults.push(format!("item {place}: the call '{id}' has a bad name or arguments"));
                }
                open.insert(id);
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default();
                if !open.remove(id) || !item["output"].is_string() {
                    faults.push(format!("item {place}: an output for '{id}', which no open call has"));
                }
            }
            other => faults.push(format!("item {place}: an item of type '{other}'")),
        }
    }
    for id in open {
        faults.push(format!("the call '{id}' at the end has no output"));
    }
}
