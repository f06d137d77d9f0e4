//! A Chat Completions reply, streamed or whole, as `StreamEvent`s. Lenient, because dozens of servers imitate it.
//! MiniMax repeats the whole message behind the deltas (OpenBitFun#792, ENTERPILOT/GoModel#1068, September 2026).

use std::ops::ControlFlow;

use serde_json::{Map, Value, json};

use super::calls::CallAssembler;
use super::inline_thinking::{self, Split, ThinkingSplitter};
use super::replay::{INLINE, OPAQUE_KIND};
use super::signed_thinking::SignedThinking;
use crate::wire::decoder::{Decoded, Decoder, Events, Flow, ReplyState, check_size, openai_usage, parse};
use crate::wire::sse::SseEvent;
use base::model::item::{Item, Reasoning};
use base::model::provider::ProviderError;
use base::model::stream::StreamEvent;
use base::model::usage::Usage;

#[derive(Debug, Default)]
pub struct ChatDecoder {
    state: ReplyState,
    text: String,
    reasoning: String,
    reasoning_field: Option<&'static str>,
    inline: bool,
    streamed: bool,
    splitter: ThinkingSplitter,
    signed: SignedThinking,
    calls: CallAssembler,
    usage: Option<Usage>,
}

impl ChatDecoder {
    pub fn new(state: ReplyState) -> Self {
        Self { state, ..Self::default() }
    }

    fn chunk(&mut self, chunk: &Value, out: &mut Events) -> Decoded {
        if let Some(error) = error_in(chunk) {
            return Err(self.state.error(error));
        }
        self.state.understood |= chunk["choices"].is_array() || chunk["object"].is_string();
        self.state.foreign |= chunk["type"].is_string();
        // Only the first answer counts if several arrive although we requested one.
        let choices = chunk["choices"].as_array();
        let first = choices.into_iter().flatten().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0);
        let choice = first.unwrap_or(&Value::Null);
        for usage in [&chunk["usage"], &choice["usage"], &chunk["x_groq"]["usage"]] {
            self.usage = read_usage(usage).or(self.usage);
        }
        if choice["delta"].is_object() {
            self.message(&choice["delta"], false, out)?;
            self.streamed |= self.has_content();
        } else if choice["message"].is_object() && !self.streamed {
            self.message(&choice["message"], true, out)?;
        }
        let reason = choice["finish_reason"].as_str().filter(|reason| !reason.is_empty());
        reason.map_or(Ok(()), |reason| self.state.finish_with(reason))
    }

    fn has_content(&self) -> bool {
        let said = !self.text.is_empty() || !self.reasoning.is_empty();
        said || !self.signed.is_empty() || !self.calls.is_empty()
    }

    fn message(&mut self, message: &Value, whole: bool, out: &mut Events) -> Decoded {
        let sealed = self.signed.push(message, whole);
        // Some servers send the same thinking under both names, and signed as well.
        let plain = ["reasoning_content", "reasoning"].map(|field| (field, text_of(&message[field])));
        let plain = plain.into_iter().find(|(_, piece)| !piece.is_empty());
        if let Some((field, _)) = plain {
            self.reasoning_field = Some(field);
        }
        self.think(plain.map_or(sealed, |(_, piece)| piece), out);
        let mut piece = text_of(&message["content"]);
        if piece.is_empty() {
            piece = text_of(&message["refusal"]);
        }
        let split = self.splitter.push(&piece);
        self.say(split, out);
        check_size(self.text.len().max(self.reasoning.len()).max(self.signed.bytes()), 0)?;
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

    fn think(&mut self, piece: String, out: &mut Events) {
        if !piece.is_empty() {
            self.reasoning.push_str(&piece);
            out.push(StreamEvent::ReasoningDelta(piece));
        }
    }

    fn say(&mut self, split: Split, out: &mut Events) {
        self.inline |= !split.thinking.is_empty();
        self.think(split.thinking, out);
        if !split.answer.is_empty() {
            self.text.push_str(&split.answer);
            out.push(StreamEvent::TextDelta(split.answer));
        }
    }

    /// Takes thinking that can be recognized only by its end.
    fn take_unopened(&mut self) {
        if self.reasoning.is_empty()
            && self.signed.is_empty()
            && let Some((thinking, answer)) = inline_thinking::split_unopened(&self.text)
        {
            (self.reasoning, self.text) = (thinking.to_owned(), answer.to_owned());
            self.inline = true;
        }
    }

    fn reasoning_item(&mut self, extras: Map<String, Value>) -> Option<Item> {
        let mut text = std::mem::take(&mut self.reasoning);
        let mut field = self.reasoning_field.unwrap_or("reasoning_content");
        if self.inline && self.reasoning_field.is_none() {
            text = text.trim().to_owned();
            field = INLINE;
        }
        let mut opaque = json!({"kind": OPAQUE_KIND, "field": field});
        let sealed = self.signed.take();
        let empty = text.is_empty() && sealed.is_none() && extras.is_empty();
        if let Some((field, blocks)) = sealed {
            opaque["field"] = json!(field);
            opaque["details"] = Value::Array(blocks);
        }
        if !extras.is_empty() {
            opaque["extras"] = Value::Object(extras);
        }
        (!empty).then(|| Item::Reasoning(Reasoning { text: text.into(), opaque: Some(opaque) }))
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &SseEvent, out: &mut Events) -> Flow {
        match event.data.trim() {
            "" => {}
            "[DONE]" => {
                self.close(out);
                return Ok(ControlFlow::Break(()));
            }
            // Some servers' errors aren't JSON.
            data if event.name == "error" => {
                let error = parse(data).unwrap_or_else(|_| json!(data));
                return Err(self.state.error(error_in(&error).unwrap_or(&error)));
            }
            data => self.chunk(&parse(data)?, out)?,
        }
        Ok(ControlFlow::Continue(()))
    }

    fn whole(&mut self, reply: &Value, out: &mut Events) -> Decoded {
        // Gemini's compatible endpoint wraps its error in an array.
        let reply = reply.get(0).unwrap_or(reply);
        if reply["choices"][0].is_null() && error_in(reply).is_none() {
            return Err(ProviderError::Protocol("the JSON is not a chat completion".to_owned()));
        }
        self.chunk(reply, out)
    }

    fn close(&mut self, out: &mut Events) {
        let split = self.splitter.finish();
        self.say(split, out);
        self.take_unopened();
        let has_calls = !self.calls.is_empty();
        let (calls, extras) = self.calls.finish(&mut self.state.ids);
        out.extend(self.reasoning_item(extras).map(StreamEvent::Item));
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

/// Under `error` (OpenAI), in an `error` object (older vLLM), as `detail` (FastAPI), or at the top level.
fn error_in(event: &Value) -> Option<&Value> {
    if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
        return Some(error);
    }
    let says = |key: &str| event[key].is_string() || event[key].is_number();
    let bare =
        event["message"].is_string() && ["code", "status", "status_code", "type"].into_iter().any(says);
    let detail = event["detail"].is_string() || event["detail"].is_array();
    let error = event["object"] == "error" || event["choices"].is_null() && (bare || detail);
    error.then_some(event)
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str().or(part.as_str())).collect()
        }
        _ => String::new(),
    }
}

pub fn read_usage(usage: &Value) -> Option<Usage> {
    openai_usage(usage, "prompt_tokens", "completion_tokens")
}
