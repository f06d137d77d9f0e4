//! Scripted replies for `FakeServer`, written once and rendered in the dialect of the request that they answer.
//!
//! ```ignore
//! answer().text("I look.").call("Read", json!({"path": "a.rs"}))      // a well-behaved streamed answer
//! answer().text("日本").bytes_per_chunk(1)                             // every byte in a chunk of its own
//! answer().text("half").cut_after(40)                                 // the connection breaks after 40 bytes
//! status(429, r#"{"error":{"message":"slow"}}"#).header("retry-after-ms", "1")
//! ```
#![allow(dead_code)]

use std::time::Duration;

use serde_json::{Value, json};

use super::responses;

/// The wire formats; chosen by the request's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Chat,
    Responses,
    Anthropic,
}

impl Dialect {
    pub fn of(path: &str) -> Self {
        match path.split('?').next().unwrap_or_default() {
            path if path.ends_with("/messages") => Self::Anthropic,
            path if path.ends_with("/responses") => Self::Responses,
            _ => Self::Chat,
        }
    }
}

/// What the server does, one after the other, once the request has been read.
#[derive(Clone, Debug)]
pub enum Step {
    /// Sends the bytes as one HTTP chunk.
    Bytes(Vec<u8>),
    /// Waits for `FakeServer::release`.
    Gate,
    /// Waits.
    Sleep(Duration),
    /// Sends nothing more until the client hangs up.
    Stall,
    /// Closes the connection without the formal end of the body.
    Cut,
    /// Closes the connection with a TCP reset.
    Reset,
    /// Sends the bytes again and again until the client hangs up.
    Forever(Vec<u8>, Duration),
}

/// One reply of the server.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    /// An answer of a model.
    Answer(Box<Answer>),
    /// Exactly this.
    Steps(Vec<Step>),
    /// Not even a head: nothing until the client hangs up.
    Silence,
}

impl Reply {
    /// Adds a response header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A reply with this status and body (`application/json` when it begins with `{`).
pub fn status(status: u16, body: &str) -> Reply {
    let kind = if body.starts_with('{') { "application/json" } else { "text/plain" };
    raw(kind, body).with_status(status)
}

/// A successful reply with exactly this body.
pub fn raw(content_type: &str, body: &str) -> Reply {
    steps(vec![Step::Bytes(body.as_bytes().to_vec())]).header("content-type", content_type)
}

/// A successful reply that does exactly this.
pub fn steps(steps: Vec<Step>) -> Reply {
    Reply { status: 200, headers: Vec::new(), content: Content::Steps(steps) }
}

/// Takes the request and never answers.
pub fn silence() -> Reply {
    Reply { status: 200, headers: Vec::new(), content: Content::Silence }
}

impl Reply {
    fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

/// A model's answer under construction, and how it is delivered.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    parts: Vec<Part>,
    usage: Option<(u64, u64, u64)>,
    no_usage: bool,
    counted: bool,
    finish: Option<&'static str>,
    bytes_per_chunk: Option<usize>,
    gated: bool,
    pause: Option<Duration>,
    keep_alives: usize,
    whole: bool,
    ending: Ending,
}

#[derive(Clone, Debug)]
pub enum Part {
    Text(String),
    Reasoning(String),
    Call { id: Option<String>, name: String, args: String },
}

#[derive(Clone, Copy, Debug, Default)]
enum Ending {
    #[default]
    Proper,
    Cut(usize),
    End(usize),
    Stall(usize),
    Reset(usize),
}

/// An empty answer to build on.
pub fn answer() -> Answer {
    Answer::default()
}

impl Answer {
    pub fn text(mut self, text: &str) -> Self {
        self.parts.push(Part::Text(text.to_owned()));
        self
    }

    pub fn reasoning(mut self, text: &str) -> Self {
        self.parts.push(Part::Reasoning(text.to_owned()));
        self
    }

    /// A call; its id is made unique by the server.
    pub fn call(self, name: &str, args: Value) -> Self {
        self.call_raw(name, &args.to_string())
    }

    /// A call whose arguments are this text, valid or not.
    pub fn call_raw(mut self, name: &str, args: &str) -> Self {
        self.parts.push(Part::Call { id: None, name: name.to_owned(), args: args.to_owned() });
        self
    }

    /// A call with an id of one's own.
    pub fn call_with_id(mut self, id: &str, name: &str, args: &str) -> Self {
        let id = Some(id.to_owned());
        self.parts.push(Part::Call { id, name: name.to_owned(), args: args.to_owned() });
        self
    }

    /// Tokens to report; `input` includes the cached ones. Without this, a quarter of the request's bytes is reported as
    /// input, and a quarter of those that it shares with the request before as cached.
    pub fn usage(mut self, input: u64, cached: u64, output: u64) -> Self {
        self.usage = Some((input, cached, output));
        self
    }

    /// Reports the input that the field's tokenizer counts.
    pub fn counted(mut self) -> Self {
        self.counted = true;
        self
    }

    /// The input to report of a request.
    pub fn input_tokens(&self, request: &Value) -> Option<u64> {
        self.counted.then(|| super::tokens::of_request(request) as u64)
    }

    /// Reports no usage.
    pub fn no_usage(mut self) -> Self {
        self.no_usage = true;
        self
    }

    /// The finish reason in the dialect's own word; by default what the calls demand.
    pub fn finish(mut self, reason: &'static str) -> Self {
        self.finish = Some(reason);
        self
    }

    /// Splits the body into chunks of so many bytes, across events and characters.
    pub fn bytes_per_chunk(mut self, bytes: usize) -> Self {
        self.bytes_per_chunk = Some(bytes);
        self
    }

    /// Each chunk waits for one `FakeServer::release`.
    pub fn gated(mut self) -> Self {
        self.gated = true;
        self
    }

    /// Waits before each chunk.
    pub fn slow(mut self, pause: Duration) -> Self {
        self.pause = Some(pause);
        self
    }

    /// So many keep-alive comments before each event.
    pub fn keep_alives(mut self, count: usize) -> Self {
        self.keep_alives = count;
        self
    }

    /// Not streamed: one JSON object.
    pub fn whole(mut self) -> Self {
        self.whole = true;
        self
    }

    /// The connection closes after so many bytes, without the body's formal end.
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Cut(bytes);
        self
    }

    /// The body ends properly after so many bytes.
    pub fn end_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::End(bytes);
        self
    }

    /// Nothing comes after so many bytes, and the connection stays open.
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Stall(bytes);
        self
    }

    /// The connection is reset after so many bytes.
    pub fn reset_after(mut self, bytes: usize) -> Self {
        self.ending = Ending::Reset(bytes);
        self
    }

    /// The steps that deliver this answer as number `number` (from 1); `guess` is the usage if none was set.
    pub fn steps(&self, dialect: Dialect, number: usize, guess: (u64, u64, u64)) -> Vec<Step> {
        let usage = (!self.no_usage).then(|| self.usage.unwrap_or(guess));
        let events = match (dialect, self.whole) {
            (Dialect::Chat, false) => self.chat(number, usage),
            (Dialect::Anthropic, false) => self.anthropic(number, usage),
            (Dialect::Responses, false) => {
                responses::events(&self.parts, &self.calls("call", number), number, self.finish, usage)
            }
            (Dialect::Chat, true) => vec![self.chat_whole(number, usage).to_string()],
            (Dialect::Anthropic, true) => vec![self.anthropic_whole(number, usage).to_string()],
            (Dialect::Responses, true) => {
                let calls = self.calls("call", number);
                vec![responses::whole(&self.parts, &calls, number, self.finish, usage).to_string()]
            }
        };
        let comments = ": keep-alive\n\n".repeat(self.keep_alives);
        let mut chunks: Vec<Vec<u8>> =
            events.into_iter().map(|event| format!("{comments}{event}").into_bytes()).collect();
        let limit = match self.ending {
            Ending::Proper => usize::MAX,
            Ending::Cut(bytes) | Ending::End(bytes) | Ending::Stall(bytes) | Ending::Reset(bytes) => bytes,
        };
        let mut left = limit;
        for chunk in &mut chunks {
            chunk.truncate(left);
            left -= chunk.len();
        }
        if let Some(size) = self.bytes_per_chunk {
            chunks = chunks.concat().chunks(size).map(<[u8]>::to_vec).collect();
        }
        let mut steps = Vec::new();
        for chunk in chunks.into_iter().filter(|chunk| !chunk.is_empty()) {
            steps.extend(self.gated.then_some(Step::Gate));
            steps.extend(self.pause.map(Step::Sleep));
            steps.push(Step::Bytes(chunk));
        }
        match self.ending {
            Ending::Proper | Ending::End(_) => {}
            Ending::Cut(_) => steps.push(Step::Cut),
            Ending::Stall(_) => steps.push(Step::Stall),
            Ending::Reset(_) => steps.push(Step::Reset),
        }
        steps
    }

    pub fn is_whole(&self) -> bool {
        self.whole
    }

    fn calls(&self, prefix: &str, number: usize) -> Vec<(String, &str, &str)> {
        let calls = self.parts.iter().filter_map(|part| match part {
            Part::Call { id, name, args } => Some((id, name.as_str(), args.as_str())),
            _ => None,
        });
        (1..)
            .zip(calls)
            .map(|(place, (id, name, args))| {
                (id.clone().unwrap_or_else(|| format!("{prefix}_{number}_{place}")), name, args)
            })
            .collect()
    }

    fn chat_finish(&self) -> &'static str {
        let called = self.parts.iter().any(|part| matches!(part, Part::Call { .. }));
        self.finish.unwrap_or(if called { "tool_calls" } else { "stop" })
    }

    fn chat(&self, number: usize, usage: Option<(u64, u64, u64)>) -> Vec<String> {
        let chunk = |delta: Value, finish: Value| {
            let chunk = json!({
                "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 0, "model": "fake",
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            });
            format!("data: {chunk}\n\n")
        };
        let mut events = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
        let calls = self.calls("call", number);
        let mut index = 0;
        for part in &self.parts {
            match part {
                Part::Text(text) => {
                    events.extend(halves(text).map(|half| chunk(json!({"content": half}), Value::Null)));
                }
                Part::Reasoning(text) => events
                    .extend(halves(text).map(|half| chunk(json!({"reasoning_content": half}), Value::Null))),
                Part::Call { .. } => {
                    let (id, name, args) = &calls[index];
                    let head = json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                        "function": {"name": name, "arguments": ""}}]});
                    events.push(chunk(head, Value::Null));
                    events.extend(halves(args).map(|half| {
                        let piece =
                            json!({"tool_calls": [{"index": index, "function": {"arguments": half}}]});
                        chunk(piece, Value::Null)
                    }));
                    index += 1;
                }
            }
        }
        events.push(chunk(json!({}), json!(self.chat_finish())));
        if let Some(usage) = usage {
            let last = json!({"id": format!("chatcmpl-{number}"), "choices": [], "usage": chat_usage(usage)});
            events.push(format!("data: {last}\n\n"));
        }
        events.push("data: [DONE]\n\n".to_owned());
        events
    }

    fn chat_whole(&self, number: usize, usage: Option<(u64, u64, u64)>) -> Value {
        let joined = |wanted: fn(&Part) -> Option<&String>| -> Value {
            let text: String = self.parts.iter().filter_map(wanted).cloned().collect();
            if text.is_empty() { Value::Null } else { json!(text) }
        };
        let mut message = json!({"role": "assistant", "content": joined(|part| match part {
            Part::Text(text) => Some(text),
            _ => None,
        })});
        let calls: Vec<Value> = self
            .calls("call", number)
            .into_iter()
            .map(|(id, name, args)| {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": args}})
            })
            .collect();
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let mut whole = json!({"object": "chat.completion", "choices": [
            {"index": 0, "message": message, "finish_reason": self.chat_finish()}
        ]});
        if let Some(usage) = usage {
            whole["usage"] = chat_usage(usage);
        }
        whole
    }

    fn anthropic_finish(&self) -> &'static str {
        let called = self.parts.iter().any(|part| matches!(part, Part::Call { .. }));
        self.finish.unwrap_or(if called { "tool_use" } else { "end_turn" })
    }

    fn anthropic(&self, number: usize, usage: Option<(u64, u64, u64)>) -> Vec<String> {
        let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap());
        let mut message = json!({"id": format!("msg_{number}"), "type": "message", "role": "assistant",
            "model": "fake", "content": [], "stop_reason": null});
        if let Some((input, cached, _)) = usage {
            message["usage"] = json!({"input_tokens": input - cached, "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": 0, "output_tokens": 1});
        }
        let mut events =
            vec![event(json!({"type": "message_start", "message": message})), event(json!({"type": "ping"}))];
        let calls = self.calls("toolu", number);
        let mut call = 0;
        for (index, part) in self.parts.iter().enumerate() {
            let (start, deltas): (Value, Vec<Value>) = match part {
                Part::Text(text) => (
                    json!({"type": "text", "text": ""}),
                    halves(text).map(|half| json!({"type": "text_delta", "text": half})).collect(),
                ),
                Part::Reasoning(text) => (
                    json!({"type": "thinking", "thinking": "", "signature": ""}),
                    halves(text)
                        .map(|half| json!({"type": "thinking_delta", "thinking": half}))
                        .chain([json!({"type": "signature_delta", "signature": format!("sig-{number}")})])
                        .collect(),
                ),
                Part::Call { .. } => {
                    let (id, name, args) = &calls[call];
                    call += 1;
                    (
                        json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                        halves(args)
                            .map(|half| json!({"type": "input_json_delta", "partial_json": half}))
                            .collect(),
                    )
                }
            };
            events
                .push(event(json!({"type": "content_block_start", "index": index, "content_block": start})));
            events.extend(
                deltas.into_iter().map(|delta| {
                    event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
                }),
            );
            events.push(event(json!({"type": "content_block_stop", "index": index})));
        }
        let mut delta = json!({"type": "message_delta", "delta": {"stop_reason": self.anthropic_finish()}});
        if let Some((_, _, output)) = usage {
            delta["usage"] = json!({"output_tokens": output});
        }
        events.extend([delta, json!({"type": "message_stop"})].map(event));
        events
    }

    fn anthropic_whole(&self, number: usize, usage: Option<(u64, u64, u64)>) -> Value {
        let calls = self.calls("toolu", number);
        let mut call = 0;
        let content: Vec<Value> = self
            .parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => json!({"type": "text", "text": text}),
                Part::Reasoning(text) => json!({"type": "thinking", "thinking": text, "signature": "sig"}),
                Part::Call { .. } => {
                    let (id, name, args) = &calls[call];
                    call += 1;
                    let input: Value = serde_json::from_str(args).unwrap();
                    json!({"type": "tool_use", "id": id, "name": name, "input": input})
                }
            })
            .collect();
        let mut whole =
            json!({"type": "message", "content": content, "stop_reason": self.anthropic_finish()});
        if let Some((input, cached, output)) = usage {
            whole["usage"] = json!({"input_tokens": input - cached, "cache_read_input_tokens": cached,
                "output_tokens": output});
        }
        whole
    }
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self { status: 200, headers: Vec::new(), content: Content::Answer(Box::new(answer)) }
    }
}

fn chat_usage((input, cached, output): (u64, u64, u64)) -> Value {
    json!({"prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": cached}})
}

/// `text` in two pieces (one when it is too short).
pub fn halves(text: &str) -> impl Iterator<Item = &str> {
    let mut middle = text.len() / 2;
    while !text.is_char_boundary(middle) {
        middle += 1;
    }
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|half| !half.is_empty())
}
