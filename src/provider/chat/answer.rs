//! A Chat Completions answer, streamed or whole, as `StreamEvent`s. Lenient in what it takes: the dialect is spoken
//! by dozens of servers. Inline `<think>` text is left as it is.

use serde_json::{Value, json};

use super::body::OPAQUE_KIND;
use super::calls::Calls;
use crate::base::secret::Secret;
use crate::model::item::{Item, Reasoning};
use crate::model::stream::StreamEvent;
use crate::model::usage::{FinishReason, Usage};
use crate::provider::api::ProviderError;
use crate::provider::call_ids::CallIds;
use crate::provider::wire::error_mapping;
use crate::provider::wire::exchange::{Decoder, Flow};
use crate::provider::wire::json::{parse, token_count};
use crate::provider::wire::sse::SseEvent;

/// Largest text (visible or thinking) of one answer, in bytes.
const MAX_TEXT_BYTES: usize = 16 * 1024 * 1024;

/// The state of one answer.
#[derive(Debug)]
pub struct ChatDecoder {
    ids: CallIds,
    key: Option<Secret>,
    text: String,
    reasoning: String,
    /// The field in which thinking came.
    reasoning_field: &'static str,
    /// OpenRouter's form of thinking, with signatures.
    details: Vec<Value>,
    /// Size of `details` as text.
    details_bytes: usize,
    calls: Calls,
    finish: Option<FinishReason>,
    usage: Option<Usage>,
    closed: bool,
    /// An event of this dialect has come.
    understood: bool,
    /// An event of another dialect has come.
    strange: bool,
}

impl ChatDecoder {
    pub fn new(ids: CallIds, key: Option<Secret>) -> Self {
        Self {
            ids,
            key,
            text: String::new(),
            reasoning: String::new(),
            reasoning_field: "reasoning_content",
            details: Vec::new(),
            details_bytes: 0,
            calls: Calls::default(),
            finish: None,
            usage: None,
            closed: false,
            understood: false,
            strange: false,
        }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(error_mapping::from_event(error, self.key.as_ref()));
        }
        // vLLM's older way.
        if chunk["object"] == "error" {
            return Err(error_mapping::from_event(chunk, self.key.as_ref()));
        }
        self.understood |= chunk["choices"].is_array() || chunk["object"].is_string();
        self.strange |= chunk["type"].is_string();
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
            Some("error") => {
                return Err(error_mapping::from_event(
                    &json!({"message": "the model's server gave up"}),
                    None,
                ));
            }
            Some(reason) => self.finish = Some(finish_reason(reason)),
        }
        Ok(())
    }

    fn message(&mut self, message: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        // Some servers send the same thinking under both names.
        for field in ["reasoning_content", "reasoning"] {
            let piece = text_of(&message[field]);
            if !piece.is_empty() {
                self.reasoning_field = field;
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
        if self.text.len().max(self.reasoning.len()).max(self.details_bytes) > MAX_TEXT_BYTES {
            let message = format!("the text is larger than {} MiB", MAX_TEXT_BYTES >> 20);
            return Err(ProviderError::TooLarge { message });
        }
        match &message["tool_calls"] {
            Value::Array(pieces) => pieces.iter().try_for_each(|piece| self.calls.piece(piece, out))?,
            piece @ Value::Object(_) => self.calls.piece(piece, out)?,
            _ => {}
        }
        if message["function_call"].is_object() {
            self.calls.piece(&json!({"index": 0, "function": message["function_call"]}), out)?;
        }
        Ok(())
    }

    fn close(&mut self, out: &mut Vec<StreamEvent>) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        let called = !self.calls.is_empty();
        let (calls, extras) = self.calls.finish(&mut self.ids);
        if !self.reasoning.is_empty() || !self.details.is_empty() || !extras.is_empty() {
            let mut opaque = json!({"kind": OPAQUE_KIND, "field": self.reasoning_field});
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
            let text = std::mem::take(&mut self.text).into();
            out.push(StreamEvent::Item(Item::Assistant { text }));
        }
        out.extend(calls.into_iter().map(StreamEvent::Item));
        let finish = match self.finish.take() {
            // Several servers say `stop` where they mean calls.
            None | Some(FinishReason::Stop) if called => FinishReason::ToolCalls,
            None => FinishReason::Stop,
            Some(finish) => finish,
        };
        out.push(StreamEvent::Done { finish, usage: self.usage });
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Vec<StreamEvent>) -> Result<Flow, ProviderError> {
        match event.data.trim() {
            "" => Ok(Flow::More),
            "[DONE]" => {
                self.close(out);
                Ok(Flow::Done)
            }
            data => {
                self.chunk(&parse(data)?, out)?;
                Ok(Flow::More)
            }
        }
    }

    fn whole(&mut self, answer: &Value, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        // Gemini's compatible endpoint wraps its error in an array.
        let answer = answer.get(0).unwrap_or(answer);
        if answer["choices"][0].is_null() && answer["error"].is_null() && answer["object"] != "error" {
            let message = "it is JSON, but no chat completion".to_owned();
            return Err(ProviderError::Protocol { message });
        }
        self.chunk(answer, out)?;
        self.close(out);
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<StreamEvent>) -> Result<(), ProviderError> {
        if !self.settled() {
            return Err(if self.strange && !self.understood {
                let message = "its events are not those of Chat Completions".to_owned();
                ProviderError::Protocol { message }
            } else {
                ProviderError::Broken { message: "it ended without a finish reason".to_owned() }
            });
        }
        self.close(out);
        Ok(())
    }

    fn settled(&self) -> bool {
        self.finish.is_some()
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

fn finish_reason(reason: &str) -> FinishReason {
    match reason {
        "stop" | "end_turn" | "eos" => FinishReason::Stop,
        "tool_calls" | "function_call" | "tool_use" => FinishReason::ToolCalls,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" | "sensitive" => FinishReason::ContentFilter,
        other => FinishReason::Other(other.to_owned()),
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
