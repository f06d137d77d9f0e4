//! A Chat Completions reply, streamed or whole, as `StreamEvent`s. Lenient in what it takes: the dialect is spoken
//! by dozens of servers. Inline `<think>` text is left as it is.

use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::body::OPAQUE_KIND;
use super::calls::CallAssembler;
use crate::model::item::{Item, Reasoning};
use crate::model::stream::StreamEvent;
use crate::model::usage::Usage;
use crate::provider::api::ProviderError;
use crate::provider::wire::decoder::{Decoder, MAX_REPLY_BYTES, ReplyState, parse, token_count};
use crate::provider::wire::sse::SseEvent;

/// The state of one reply.
#[derive(Debug, Default)]
pub struct ChatDecoder {
    state: ReplyState,
    text: String,
    reasoning: String,
    /// The field in which thinking came.
    reasoning_field: Option<&'static str>,
    /// OpenRouter's form of thinking, with signatures.
    details: Vec<Value>,
    /// Size of `details` as text.
    details_bytes: usize,
    calls: CallAssembler,
    usage: Option<Usage>,
}

impl ChatDecoder {
    pub fn new(state: ReplyState) -> Self {
        Self { state, ..Self::default() }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(self.state.error(error));
        }
        // vLLM's older way.
        if chunk["object"] == "error" {
            return Err(self.state.error(chunk));
        }
        self.state.understood |= chunk["choices"].is_array() || chunk["object"].is_string();
        self.state.foreign |= chunk["type"].is_string();
        let choice = &chunk["choices"][0];
        for usage in [&chunk["usage"], &choice["usage"], &chunk["x_groq"]["usage"]] {
            self.usage = read_usage(usage).or(self.usage);
        }
        let message = [&choice["delta"], &choice["message"]].into_iter().find(|part| part.is_object());
        if let Some(message) = message {
            self.message(message, out)?;
        }
        match choice["finish_reason"].as_str() {
            None | Some("") => {}
            Some("error") => return Err(self.state.error(&json!({"message": "the model's server gave up"}))),
            Some(reason) => self.state.finish_with(reason),
        }
        Ok(())
    }

    fn message(&mut self, message: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        // Some servers send the same thinking under both names.
        for field in ["reasoning_content", "reasoning"] {
            let piece = text_of(&message[field]);
            if !piece.is_empty() {
                self.reasoning_field = Some(field);
                self.reasoning.push_str(&piece);
                out.push(StreamEvent::ReasoningDelta(piece));
                break;
            }
        }
        for detail in message["reasoning_details"].as_array().into_iter().flatten() {
            self.details_bytes += detail.to_string().len();
            self.details.push(detail.clone());
        }
        let mut piece = text_of(&message["content"]);
        if piece.is_empty() {
            piece = text_of(&message["refusal"]);
        }
        if !piece.is_empty() {
            self.text.push_str(&piece);
            out.push(StreamEvent::TextDelta(piece));
        }
        if self.text.len().max(self.reasoning.len()).max(self.details_bytes) > MAX_REPLY_BYTES {
            let message = format!("the text is larger than {} MiB", MAX_REPLY_BYTES >> 20);
            return Err(ProviderError::TooLarge { message });
        }
        match &message["tool_calls"] {
            Value::Array(pieces) => pieces.iter().try_for_each(|piece| self.calls.push(piece, out))?,
            piece @ Value::Object(_) => self.calls.push(piece, out)?,
            _ => {}
        }
        if message["function_call"].is_object() {
            self.calls.push(&json!({"index": 0, "function": message["function_call"]}), out)?;
        }
        Ok(())
    }
}

impl Decoder for ChatDecoder {
    fn event(
        &mut self,
        event: &SseEvent,
        out: &mut Vec<StreamEvent>,
    ) -> Result<ControlFlow<()>, ProviderError> {
        match event.data.trim() {
            "" => {}
            "[DONE]" => {
                self.close(out);
                return Ok(ControlFlow::Break(()));
            }
            data => self.chunk(&parse(data)?, out)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn whole(&mut self, reply: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        // Gemini's compatible endpoint wraps its error in an array.
        let reply = reply.get(0).unwrap_or(reply);
        if reply["choices"][0].is_null() && reply["error"].is_null() && reply["object"] != "error" {
            return Err(ProviderError::Protocol { message: "the JSON is not a chat completion".to_owned() });
        }
        self.chunk(reply, out)
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        let has_calls = !self.calls.is_empty();
        let (calls, extras) = self.calls.finish(&mut self.state.ids);
        if !self.reasoning.is_empty() || !self.details.is_empty() || !extras.is_empty() {
            let field = self.reasoning_field.unwrap_or("reasoning_content");
            let mut opaque = json!({"kind": OPAQUE_KIND, "field": field});
            if !self.details.is_empty() {
                opaque["details"] = Value::Array(std::mem::take(&mut self.details));
            }
            if !extras.is_empty() {
                opaque["extras"] = Value::Object(extras);
            }
            let text = std::mem::take(&mut self.reasoning).into();
            out.push(StreamEvent::Item(Item::Reasoning(Reasoning { text, opaque: Some(opaque) })));
        }
        if !self.text.is_empty() {
            out.push(StreamEvent::Item(Item::assistant(std::mem::take(&mut self.text))));
        }
        out.extend(calls.into_iter().map(StreamEvent::Item));
        out.push(self.state.done(has_calls, self.usage));
    }

    fn state(&self) -> &ReplyState {
        &self.state
    }
}

/// Text that is a string, null, or an array of parts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str().or(part.as_str())).collect()
        }
        _ => String::new(),
    }
}

fn read_usage(usage: &Value) -> Option<Usage> {
    let count = |value: &Value| token_count(value).unwrap_or(0);
    let read = Usage {
        input: count(&usage["prompt_tokens"]),
        cached: token_count(&usage["prompt_tokens_details"]["cached_tokens"])
            .or(token_count(&usage["prompt_cache_hit_tokens"]))
            .or(token_count(&usage["cached_tokens"]))
            .unwrap_or(0),
        cache_write: count(&usage["prompt_tokens_details"]["cache_write_tokens"]),
        output: count(&usage["completion_tokens"]),
        reasoning: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
    };
    // Zeros are how some servers leave it out.
    (read.input > 0 || read.output > 0).then_some(read)
}
