//! A Chat Completions reply, streamed or not, as `StreamEvent`s. Lenient: dozens of servers imitate it.

use std::ops::ControlFlow;

use serde_json::{Map, Value, json};

use super::inline_thinking::{self, Split, ThinkingSplitter};
use super::replay::{CALL_EXTRAS, INLINE, OPAQUE_KIND};
use super::signed_thinking::SignedThinking;
use crate::call_ids::{self, CallIds};
use crate::wire::decoder::{Decoded, Decoder, Events, Flow, ReplyState, check_size, openai_usage, parse};
use crate::wire::sse::SseEvent;
use base::model::call::ToolCall;
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
        // If several answers come although we asked for one, only the first counts.
        let choices = chunk["choices"].as_array();
        let first = choices.into_iter().flatten().find(|choice| choice["index"].as_u64().unwrap_or(0) == 0);
        let choice = first.unwrap_or(&Value::Null);
        for usage in [&chunk["usage"], &choice["usage"], &chunk["x_groq"]["usage"]] {
            self.usage = read_usage(usage).or(self.usage);
        }
        for (message, whole) in [(&choice["delta"], false), (&choice["message"], true)] {
            if message.is_object() {
                self.message(message, whole, out)?;
                break;
            }
        }
        match choice["finish_reason"].as_str() {
            None | Some("") => {}
            Some("error") => {
                return Err(self.state.error(&json!({"message": "the model's server stopped responding"})));
            }
            Some(reason) => self.state.finish_with(reason),
        }
        Ok(())
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

    /// For thinking that is recognized only at its end.
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

/// An event's error: under `error` (OpenAI), in an object of that name (older vLLM), as `detail` (FastAPI),
/// or bare: a message with a code, a status or a type.
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

// Assembles tool calls from a Chat Completions stream. By the standard, each piece has an index, the first
// one id and name, and many have arguments. Imitators leave out the index or the id, use index 0 for every
// call, repeat id and name in each piece, or send a call in one piece.

#[derive(Debug, Default)]
struct PartialCall {
    index: Option<u64>,
    id: String,
    name: String,
    args: String,
    /// The server's additions, such as Gemini's thought signature; they must go back unchanged.
    extras: Map<String, Value>,
}

impl PartialCall {
    /// A complete object means that the next piece belongs to another call.
    fn complete(&self) -> bool {
        self.args.trim_end().ends_with('}') && serde_json::from_str::<Value>(&self.args).is_ok()
    }
}

#[derive(Debug, Default)]
struct CallAssembler {
    calls: Vec<PartialCall>,
    bytes: usize,
}

impl CallAssembler {
    fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// A piece is an entry of `tool_calls`, or a `function_call` in the same form.
    fn push(&mut self, piece: &Value, out: &mut Events) -> Decoded {
        let index = piece["index"].as_u64();
        let id = piece["id"].as_str().unwrap_or_default();
        let function = &piece["function"];
        let name = function["name"].as_str().unwrap_or_default();
        let args = call_ids::argument_text(&function["arguments"]);
        self.bytes += args.len() + id.len() + name.len();
        check_size(self.bytes, self.calls.len())?;
        let at = self.continued(index, id, name, &args).unwrap_or_else(|| {
            self.calls.push(PartialCall { index, id: id.to_owned(), ..PartialCall::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if !name.is_empty() && call.name != name && call.args.is_empty() {
            let begins = call.name.is_empty();
            call.name.push_str(name);
            if begins {
                out.push(StreamEvent::CallStarted { name: name.to_owned() });
            }
        }
        for name in CALL_EXTRAS {
            if piece[name].is_object() {
                self.bytes += piece[name].to_string().len();
                call.extras.insert(name.to_owned(), piece[name].clone());
            }
        }
        if !args.is_empty() {
            call.args.push_str(&args);
            out.push(StreamEvent::CallProgress { bytes: call.args.len() });
        }
        Ok(())
    }

    /// The call that a piece continues; `None` if it starts a new one.
    fn continued(&self, index: Option<u64>, id: &str, name: &str, args: &str) -> Option<usize> {
        let found = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None if !id.is_empty() => return self.calls.iter().rposition(|call| call.id == id),
            None => self.calls.len().checked_sub(1),
        }?;
        let call = &self.calls[found];
        let begins = !name.is_empty();
        let other_id = begins && !id.is_empty() && !call.id.is_empty() && call.id != id;
        let other_name = begins && index.is_none() && !call.name.is_empty() && call.name != name;
        let follows_whole = begins && !args.is_empty() && call.complete();
        (!other_id && !other_name && !follows_whole).then_some(found)
    }

    /// The calls with unique ids, and the servers' additions by id. Broken arguments stay as they are.
    fn finish(&mut self, ids: &mut CallIds) -> (Vec<Item>, Map<String, Value>) {
        let mut extras = Map::new();
        let calls = std::mem::take(&mut self.calls)
            .into_iter()
            .map(|call| {
                let id = ids.claim(&call.id);
                if !call.extras.is_empty() {
                    extras.insert(id.to_string(), Value::Object(call.extras));
                }
                Item::ToolCall(ToolCall {
                    id,
                    name: call_ids::bounded_name(&call.name),
                    args: call.args.into(),
                })
            })
            .collect();
        (calls, extras)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::decoder::MAX_REPLY_BYTES;

    fn assemble(pieces: &[Value]) -> Vec<String> {
        let mut calls = CallAssembler::default();
        let mut out = Vec::new();
        for piece in pieces {
            calls.push(piece, &mut out).unwrap();
        }
        calls
            .finish(&mut CallIds::default())
            .0
            .into_iter()
            .map(|item| match item {
                Item::ToolCall(call) => format!("{} {} {}", call.id, call.name, call.args),
                other => format!("{other:?}"),
            })
            .collect()
    }

    fn piece(index: Option<u64>, id: &str, name: &str, args: &str) -> Value {
        let mut piece = json!({"function": {"arguments": args}});
        if let Some(index) = index {
            piece["index"] = json!(index);
        }
        if !id.is_empty() {
            piece["id"] = json!(id);
        }
        if !name.is_empty() {
            piece["function"]["name"] = json!(name);
        }
        piece
    }

    #[test]
    fn the_standard_way_interleaved() {
        let pieces = [
            piece(Some(0), "a", "Read", ""),
            piece(Some(1), "b", "LS", ""),
            piece(Some(0), "", "", "{\"p\":"),
            piece(Some(1), "", "", "{}"),
            piece(Some(0), "", "", "1}"),
        ];
        assert_eq!(assemble(&pieces), ["a Read {\"p\":1}", "b LS {}"]);
    }

    #[test]
    fn id_and_name_in_each_piece() {
        let pieces = [piece(Some(0), "a", "Read", "{\"p\""), piece(Some(0), "a", "Read", ":1}")];
        assert_eq!(assemble(&pieces), ["a Read {\"p\":1}"]);
        let pieces = [piece(None, "", "Read", "{\"p\""), piece(None, "", "Read", ":1}")];
        assert_eq!(assemble(&pieces), ["call_1 Read {\"p\":1}"]);
    }

    #[test]
    fn whole_calls_without_index_or_id() {
        let whole = json!({"function": {"name": "Read", "arguments": {"p": 1}}});
        assert_eq!(assemble(&[whole.clone(), whole]), ["call_1 Read {\"p\":1}", "call_2 Read {\"p\":1}"]);
    }

    #[test]
    fn index_zero_for_every_call() {
        let pieces = [piece(Some(0), "a", "Read", "{}"), piece(Some(0), "b", "Read", "{}")];
        assert_eq!(assemble(&pieces), ["a Read {}", "b Read {}"]);
        let pieces = [piece(Some(0), "", "Read", "{}"), piece(Some(0), "", "Read", "{}")];
        assert_eq!(assemble(&pieces), ["call_1 Read {}", "call_2 Read {}"]);
    }

    #[test]
    fn repeated_ids_are_told_apart() {
        let pieces = [piece(Some(0), "a", "Read", "{}"), piece(Some(1), "a", "LS", "{}")];
        assert_eq!(assemble(&pieces), ["a Read {}", "a_1 LS {}"]);
    }

    #[test]
    fn broken_arguments() {
        assert_eq!(assemble(&[piece(Some(0), "a", "Read", "{\"p\":")]), ["a Read {\"p\":"]);
    }

    #[test]
    fn flood() {
        let mut calls = CallAssembler::default();
        let flood = piece(Some(0), "a", "Write", &"x".repeat(MAX_REPLY_BYTES / 2 + 1));
        assert!(calls.push(&flood, &mut Vec::new()).is_ok());
        assert!(calls.push(&flood, &mut Vec::new()).is_err());
    }
}
