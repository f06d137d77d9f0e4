//! Counts as the field's tokenizer does (o200k), for what the product promises in tokens.

use std::sync::OnceLock;

use base::model::request::Request;
use context::tokens::request_size::Countable as _;
use serde_json::Value;
use tiktoken_rs::CoreBPE;

/// Tokens of a text.
pub fn count(text: &str) -> usize {
    static BPE: OnceLock<CoreBPE> = OnceLock::new();
    BPE.get_or_init(|| tiktoken_rs::o200k_base().unwrap()).encode_ordinary(text).len()
}

/// Tokens of a Chat Completions request as a server would count it: the text of every message and the schemas.
pub fn of_request(body: &Value) -> usize {
    let messages: usize = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|message| {
            let content = message["content"].as_str().map_or(0, count);
            let calls = message["tool_calls"].as_array().map_or(0, |calls| {
                calls
                    .iter()
                    .map(|call| {
                        count(call["function"]["name"].as_str().unwrap_or_default())
                            + count(call["function"]["arguments"].as_str().unwrap_or_default())
                            + 4
                    })
                    .sum()
            });
            content + calls + 4
        })
        .sum();
    let tools = body.get("tools").map_or(0, |tools| count(&tools.to_string()));
    messages + tools
}

/// A request by our own estimate, from its parts alone.
pub fn estimated(request: &Request) -> u64 {
    let system = request.system.iter().map(|block| block.text.estimated());
    let messages = request.messages.iter().map(|message| message.estimated());
    system.chain([request.tools.estimated()]).chain(messages).map(u64::from).sum()
}
