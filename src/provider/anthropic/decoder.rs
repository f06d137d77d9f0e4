//! A Messages reply, streamed or whole, as `StreamEvent`s. Thinking keeps its exact text and signature.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::body::OPAQUE_KIND;
use crate::call_ids;
use crate::wire::decoder::{Decoded, Decoder, Events, Flow, ReplyState, check_size, parse, token_count};
use crate::wire::sse::SseEvent;
use base::model::call::ToolCall;
use base::model::item::{Item, Reasoning};
use base::model::provider::ProviderError;
use base::model::stream::StreamEvent;
use base::model::usage::Usage;

/// An unfinished block: its initial form, and what the deltas added.
#[derive(Debug)]
struct OpenBlock {
    block: Value,
    body: String,
    signature: String,
}

#[derive(Debug, Default)]
pub struct AnthropicDecoder {
    state: ReplyState,
    open: BTreeMap<u64, OpenBlock>,
    bytes: usize,
    blocks: usize,
    has_calls: bool,
    /// The counts of all events; later ones are totals, not additions.
    usage: Value,
}

impl AnthropicDecoder {
    pub fn new(state: ReplyState) -> Self {
        Self { state, ..Self::default() }
    }

    fn delta(&mut self, event: &Value, out: &mut Events) -> Decoded {
        let delta = &event["delta"];
        let index = event["index"].as_u64().unwrap_or(0);
        let (field, kind) = match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => ("text", "text"),
            "thinking_delta" => ("thinking", "thinking"),
            "input_json_delta" => ("partial_json", "tool_use"),
            "signature_delta" => ("signature", "thinking"),
            _ => return Ok(()),
        };
        let piece = delta[field].as_str().unwrap_or_default();
        self.bytes += piece.len();
        check_size(self.bytes, self.blocks)?;
        if piece.is_empty() {
            return Ok(());
        }
        // Some imitators leave out the start of a block.
        let open = self.open.entry(index).or_insert_with(|| OpenBlock::new(json!({"type": kind})));
        if field == "signature" {
            open.signature.push_str(piece);
            return Ok(());
        }
        open.body.push_str(piece);
        match field {
            "text" => out.push(StreamEvent::TextDelta(piece.to_owned())),
            "thinking" => out.push(StreamEvent::ReasoningDelta(piece.to_owned())),
            _ => out.push(StreamEvent::CallProgress { bytes: open.body.len() }),
        }
        Ok(())
    }

    fn start(&mut self, index: u64, block: &Value, out: &mut Events) -> Decoded {
        // Without a type, its deltas tell what it is.
        if !block["type"].is_string() {
            return Ok(());
        }
        self.bytes += block.to_string().len();
        self.blocks += 1;
        check_size(self.bytes, self.blocks)?;
        // Text in a block's start hasn't been shown yet.
        let shown = |key: &str| block[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        match block["type"].as_str() {
            Some("tool_use") => {
                let name = block["name"].as_str().unwrap_or_default().to_owned();
                out.push(StreamEvent::CallStarted { name });
            }
            Some("text") => out.extend(shown("text").map(StreamEvent::TextDelta)),
            Some("thinking") => out.extend(shown("thinking").map(StreamEvent::ReasoningDelta)),
            _ => {}
        }
        // A block that never ended is as complete as it will get.
        if let Some(before) = self.open.insert(index, OpenBlock::new(block.clone())) {
            out.extend(self.stop(before).map(StreamEvent::Item));
        }
        Ok(())
    }

    fn stop(&mut self, open: OpenBlock) -> Option<Item> {
        let OpenBlock { mut block, body, signature } = open;
        let whole = |key: &str| format!("{}{body}", block[key].as_str().unwrap_or_default());
        match block["type"].as_str()? {
            "text" => {
                let text = whole("text");
                (!text.is_empty()).then(|| Item::assistant(text))
            }
            "thinking" => {
                let text = whole("thinking");
                let signature = format!("{}{signature}", block["signature"].as_str().unwrap_or_default());
                block["thinking"] = json!(text);
                block["signature"] = json!(signature);
                Some(reasoning(&text, block))
            }
            "redacted_thinking" => Some(reasoning("", block)),
            "tool_use" => {
                self.has_calls = true;
                let args = if !body.is_empty() {
                    body
                } else {
                    match &block["input"] {
                        input @ Value::Object(_) => input.to_string(),
                        _ => "{}".to_owned(),
                    }
                };
                Some(Item::ToolCall(ToolCall {
                    id: self.state.ids.claim(block["id"].as_str().unwrap_or_default()),
                    name: call_ids::bounded_name(block["name"].as_str().unwrap_or_default()),
                    args: args.into(),
                }))
            }
            // Blocks of server-side tools, which we never request.
            _ => None,
        }
    }

    fn add_usage(&mut self, usage: &Value) {
        for (key, count) in usage.as_object().into_iter().flatten() {
            if count.is_object() || token_count(count).is_some() {
                self.usage[key] = count.clone();
            }
        }
    }

    fn message_delta(&mut self, delta: &Value, usage: &Value) -> Decoded {
        if let Some(reason) = delta["stop_reason"].as_str() {
            self.state.finish_with(reason)?;
            let details = &delta["stop_details"];
            let said = ["explanation", "category"].iter().find_map(|key| details[*key].as_str());
            self.state.explain_refusal(said.unwrap_or_default().to_owned());
        }
        self.add_usage(usage);
        Ok(())
    }
}

impl OpenBlock {
    fn new(block: Value) -> Self {
        Self { block, body: String::new(), signature: String::new() }
    }
}

/// In this dialect, the input excludes cached tokens.
pub fn read_usage(usage: &Value) -> Option<Usage> {
    let keys = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"];
    let counts = keys.map(|key| token_count(&usage[key]));
    let thinking = token_count(&usage["output_tokens_details"]["thinking_tokens"]).unwrap_or(0);
    let [input, cached, cache_write, output] = counts.map(Option::unwrap_or_default);
    counts.iter().any(Option::is_some).then_some(Usage {
        input: input + cached + cache_write,
        cached,
        cache_write,
        output,
        reasoning: thinking.min(output),
        ..Usage::default()
    })
}

impl Decoder for AnthropicDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Events) -> Flow {
        let data = event.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(ControlFlow::Continue(()));
        }
        let data = parse(data)?;
        let index = data["index"].as_u64().unwrap_or(0);
        let kind = data["type"].as_str().unwrap_or(&event.name);
        self.state.understood |= !kind.is_empty();
        self.state.foreign |= data["choices"].is_array();
        // Proxies insert their own errors, without a type.
        if kind != "error" && data.get("error").is_some_and(|error| !error.is_null()) {
            return Err(self.state.error(&data["error"]));
        }
        match kind {
            "message_start" => self.add_usage(&data["message"]["usage"]),
            "content_block_start" => self.start(index, &data["content_block"], out)?,
            "content_block_delta" => self.delta(&data, out)?,
            "content_block_stop" => {
                if let Some(open) = self.open.remove(&index) {
                    out.extend(self.stop(open).map(StreamEvent::Item));
                }
            }
            "message_delta" => self.message_delta(&data["delta"], &data["usage"])?,
            "message_stop" => {
                self.close(out);
                return Ok(ControlFlow::Break(()));
            }
            "error" => return Err(self.state.error(&data["error"])),
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn whole(&mut self, reply: &Value, out: &mut Events) -> Decoded {
        let reply = reply.get(0).unwrap_or(reply);
        if !reply["error"].is_null() {
            return Err(self.state.error(&reply["error"]));
        }
        let Some(blocks) = reply["content"].as_array() else {
            return Err(ProviderError::Protocol("the JSON is not a message".to_owned()));
        };
        for (index, block) in (0..).zip(blocks) {
            self.start(index, block, out)?;
        }
        self.message_delta(reply, &reply["usage"])?;
        Ok(())
    }

    fn close(&mut self, out: &mut Events) {
        for open in std::mem::take(&mut self.open).into_values() {
            out.extend(self.stop(open).map(StreamEvent::Item));
        }
        out.push(self.state.done(self.has_calls, read_usage(&self.usage)));
    }

    fn state(&self) -> &ReplyState {
        &self.state
    }
}

fn reasoning(text: &str, block: Value) -> Item {
    let opaque = Some(json!({"kind": OPAQUE_KIND, "block": block}));
    Item::Reasoning(Reasoning { text: text.into(), opaque })
}
