//! Answers as they stream in, in all dialects and through a real socket.

use std::sync::Arc;
use std::time::Duration;

use base::config::settings::{ProviderKind, ProviderSettings, ToolCalls};
use base::model::item::Item;
use base::model::provider::{Provider, ProviderError};
use base::model::request::{Message, Params, Request};
use base::model::stream::StreamEvent;
use base::model::usage::{FinishReason, Usage};
use base::secret::Secret;
use futures_util::StreamExt;
use proptest::prelude::*;
use provider::anthropic::decoder::AnthropicDecoder;
use provider::anthropic::provider::Anthropic;
use provider::chat::body;
use provider::chat::decoder::ChatDecoder;
use provider::openai::Chat;
use provider::registry;
use provider::responses::decoder::Responses;
use provider::responses::decoder::ResponsesDecoder;
use provider::scripted::Scripted;
use provider::window::probe;
use provider::wire::decoder::{Decoder, ReplyState};
use provider::wire::retry::RetryPolicy;
use provider::wire::sse::SseParser;
use serde_json::json;

use crate::support::answer::answer;
use crate::support::answer::raw;
use crate::support::answer::{Answer, Dialect, Reply, Step};
use crate::support::server::FakeServer;

pub fn settings(kind: ProviderKind, server: &FakeServer) -> ProviderSettings {
    ProviderSettings {
        kind,
        base_url: server.base_url(),
        api_key: Some(Secret::new("sk-very-secret")),
        model: "m".into(),
        script: None,
        headers: vec![("x-extra".to_owned(), "1".to_owned())],
        idle_timeout_s: 20,
        answer_timeout_s: 3_600,
        max_tries: 3,
        wait_s: None,
        max_output_tokens: None,
        temperature: None,
        reasoning_effort: None,
        verbosity: None,
        bearer: false,
        key_source: None,
        next_models: Vec::new(),
        tool_calls: ToolCalls::Auto,
        servers: None,
    }
}

/// Waits of a millisecond instead of half a second; the rest as usual.
pub fn quick() -> RetryPolicy {
    RetryPolicy { first_wait: Duration::from_millis(1), ..RetryPolicy::new(20, 3) }
}

pub fn provider(kind: ProviderKind, server: &FakeServer, pace: RetryPolicy) -> Arc<dyn Provider> {
    match kind {
        ProviderKind::Anthropic => Arc::new(Anthropic::with_retry(&settings(kind, server), pace).unwrap()),
        ProviderKind::Responses => Arc::new(Responses::with_retry(&settings(kind, server), pace).unwrap()),
        _ => Arc::new(Chat::with_retry(&settings(kind, server), pace).unwrap()),
    }
}

pub fn hello() -> Request {
    Request {
        messages: vec![Message::User("hi".into())],
        params: Params { model: "m".into(), ..Params::default() },
        ..Request::default()
    }
}

pub async fn ask(provider: &dyn Provider) -> Result<Vec<StreamEvent>, ProviderError> {
    let events: Vec<_> = provider.stream(&hello()).collect().await;
    events.into_iter().collect()
}

/// The finished items, the finish and the usage, one a line; deltas joined in front.
pub fn told(events: &[StreamEvent]) -> String {
    let mut deltas = String::new();
    let mut lines = Vec::new();
    for event in events {
        match event {
            StreamEvent::TextDelta(text) => deltas.push_str(text),
            StreamEvent::ReasoningDelta(text) => deltas.push_str(&format!("({text})")),
            StreamEvent::CallStarted { name } => deltas.push_str(&format!("[{name}]")),
            StreamEvent::CallProgress { .. } | StreamEvent::Silent { .. } => {}
            StreamEvent::Item(Item::Assistant { text, .. }) => lines.push(format!("text {text}")),
            StreamEvent::Item(Item::Reasoning(reasoning)) => {
                let opaque = reasoning.opaque.as_ref().map(ToString::to_string).unwrap_or_default();
                lines.push(format!("thinking {} {opaque}", reasoning.text));
            }
            StreamEvent::Item(Item::ToolCall(call)) => {
                lines.push(format!("call {} {} {}", call.id, call.name, call.args));
            }
            StreamEvent::Item(other) => lines.push(format!("{other:?}")),
            StreamEvent::Restarted { attempt, reason, .. } => {
                lines.push(format!("try {attempt}: {reason}"));
            }
            StreamEvent::Done { finish, usage } => lines.push(match usage {
                Some(usage) => {
                    format!("{finish:?} in {} cached {} out {}", usage.input, usage.cached, usage.output)
                }
                None => format!("{finish:?}"),
            }),
        }
    }
    format!("{deltas}\n{}", lines.join("\n"))
}

/// Each dialect.
pub const ALL: [ProviderKind; 3] = [ProviderKind::Chat, ProviderKind::Responses, ProviderKind::Anthropic];

pub async fn one(kind: ProviderKind, reply: impl Into<Reply>) -> String {
    let server = FakeServer::start(vec![reply.into()]);
    let events = ask(&*provider(kind, &server, quick())).await;
    events.map_or_else(|error| format!("error: {error}"), |events| told(&events))
}

pub fn rich() -> Answer {
    answer()
        .reasoning("Hmm…")
        .text("Ich schaue 日本 🦀.")
        .call("Read", json!({"path": "ä.rs"}))
        .call_raw("Grep", "{\"pattern\": \"x")
        .usage(900, 800, 12)
}

#[tokio::test]
async fn chat_answer() {
    insta::assert_snapshot!(one(ProviderKind::Openai, rich()).await, @r#"
    (Hmm)(…)Ich schaue 日本 🦀.[Read][Grep]
    thinking Hmm… {"kind":"openai-reasoning-content","field":"reasoning_content"}
    text Ich schaue 日本 🦀.
    call call_1_1 Read {"path":"ä.rs"}
    call call_1_2 Grep {"pattern": "x
    ToolCalls in 900 cached 800 out 12
    "#);
}

#[tokio::test]
async fn anthropic_answer() {
    insta::assert_snapshot!(one(ProviderKind::Anthropic, rich()).await, @r#"
    (Hmm)(…)Ich schaue 日本 🦀.[Read][Grep]
    thinking Hmm… {"kind":"anthropic","block":{"type":"thinking","thinking":"Hmm…","signature":"sig-1"}}
    text Ich schaue 日本 🦀.
    call toolu_1_1 Read {"path":"ä.rs"}
    call toolu_1_2 Grep {"pattern": "x
    ToolCalls in 900 cached 800 out 12
    "#);
}

#[tokio::test]
async fn delivery_in_any_portions() {
    for kind in ALL {
        let expected = one(kind, rich()).await;
        let parts = |told: &str| told.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        for delivery in [
            rich().bytes_per_chunk(1),
            rich().bytes_per_chunk(7),
            rich().keep_alives(3),
            rich().slow(Duration::from_millis(1)),
        ] {
            assert_eq!(parts(&one(kind, delivery).await), parts(&expected));
        }
    }
}

#[tokio::test]
async fn whole_answer() {
    let whole = answer().text("Hi.").call("LS", json!({})).usage(5, 1, 2).whole();
    insta::assert_snapshot!(one(ProviderKind::Openai, whole.clone()).await, @r"
    Hi.[LS]
    text Hi.
    call call_1_1 LS {}
    ToolCalls in 5 cached 1 out 2
    ");
    insta::assert_snapshot!(one(ProviderKind::Anthropic, whole).await, @r"
    Hi.[LS]
    text Hi.
    call toolu_1_1 LS {}
    ToolCalls in 5 cached 1 out 2
    ");
}

#[tokio::test]
async fn server_without_usage_ids_or_formal_end() {
    for kind in ALL {
        assert_eq!(one(kind, answer().text("Hi.").no_usage()).await, "Hi.\ntext Hi.\nStop");
    }
    let same = answer().call_with_id("x", "LS", "{}").call_with_id("x", "LS", "{}").no_usage();
    for kind in ALL {
        assert_eq!(one(kind, same.clone()).await, "[LS][LS]\ncall x LS {}\ncall x_1 LS {}\nToolCalls");
    }
    // No [DONE], no blank line at the end, `finish_reason` and usage in the last choice.
    let bare = concat!(
        "data:{\"choices\":[{\"delta\":{\"content\":\"Hi.\"}}]}\n\n",
        "data:{\"choices\":[{\"delta\":{\"content\":null},\"finish_reason\":\"stop\"}],",
        "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1,\"prompt_cache_hit_tokens\":3}}"
    );
    assert_eq!(
        one(ProviderKind::Openai, raw("text/plain", bare)).await,
        "Hi.\ntext Hi.\nStop in 7 cached 3 out 1"
    );
    // [DONE] without a finish reason.
    let bare = "data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"Hi.\"}]}}]}\n\ndata: [DONE]\n\n";
    assert_eq!(one(ProviderKind::Openai, raw("text/event-stream", bare)).await, "Hi.\ntext Hi.\nStop");
}

#[tokio::test]
async fn opaque_parts_are_returned() {
    let body = concat!(
        "data: {\"choices\":[{\"delta\":{\"reasoning\":\"hm\",\"reasoning_details\":[{\"type\":\"reasoning.encrypted\",\"data\":\"e\"}]}}]}\n\n",
        "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"LS\",\"arguments\":\"{}\"},",
        "\"extra_content\":{\"google\":{\"thought_signature\":\"s\"}}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    );
    let server = FakeServer::start(vec![raw("text/event-stream", body)]);
    let provider = provider(ProviderKind::Openai, &server, quick());
    let mut request = hello();
    for event in ask(&*provider).await.unwrap() {
        match event {
            StreamEvent::Item(Item::Reasoning(reasoning)) => {
                request.messages.push(Message::Reasoning(Arc::new(reasoning)));
            }
            StreamEvent::Item(Item::ToolCall(call)) => request.messages.push(Message::Call(Arc::new(call))),
            _ => {}
        }
    }
    let body = body::body(&request, false);
    let body: serde_json::Value = serde_json::from_str(&body).unwrap();
    insta::assert_snapshot!(body["messages"][1], @r#"{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.encrypted","data":"e"}],"tool_calls":[{"id":"a","type":"function","function":{"name":"LS","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]}"#);
}

#[tokio::test]
async fn finish_reasons() {
    for (word, expected) in [("length", "Length"), ("content_filter", "ContentFilter"), ("odd", "Stop")] {
        let told = one(ProviderKind::Openai, answer().text("x").no_usage().finish(word)).await;
        assert!(told.ends_with(expected), "{told}");
    }
    for (word, expected) in [
        ("max_tokens", "Length"),
        ("model_context_window_exceeded", "WindowFull"),
        ("pause_turn", "Paused"),
        ("refusal", "Refused(\"\")"),
        ("stop_sequence", "Stop"),
    ] {
        let told = one(ProviderKind::Anthropic, answer().text("x").no_usage().finish(word)).await;
        assert!(told.ends_with(expected), "{told}");
    }
}

#[tokio::test]
async fn key_headers() {
    for (kind, header, value) in [
        (ProviderKind::Openai, "authorization", "Bearer sk-very-secret"),
        (ProviderKind::Anthropic, "x-api-key", "sk-very-secret"),
    ] {
        let server = FakeServer::start(vec![answer().text("x").into()]);
        ask(&*registry::build(&settings(kind, &server)).unwrap()).await.unwrap();
        let request = &server.requests()[0];
        assert_eq!((request.header(header), request.header("x-extra")), (value, "1"));
        assert_eq!(request.header("content-type"), "application/json");
    }
}

#[tokio::test]
async fn connection_reuse() {
    let server = FakeServer::start((0..4).map(|_| answer().text("x").into()).collect());
    let provider = provider(ProviderKind::Openai, &server, quick());
    for _ in 0..4 {
        ask(&*provider).await.unwrap();
        // The formal end is read in the background.
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let last = server.requests().last().map(|request| request.connection);
    assert!(last < Some(4), "each request opened a connection of its own");
}

#[tokio::test]
async fn deltas_and_dropped_streams() {
    let server = FakeServer::start(vec![answer().text("one two").gated().into()]);
    let mut stream = provider(ProviderKind::Openai, &server, quick()).stream(&hello());
    server.release(2);
    assert_eq!(stream.next().await.unwrap().unwrap(), StreamEvent::TextDelta("one".to_owned()));
    drop(stream);
    tokio::task::spawn_blocking(move || server.wait_for_hang_ups(1)).await.unwrap();
}

#[tokio::test]
async fn call_ids_stay_unique() {
    let server = FakeServer::start(vec![answer().call_with_id("call_0", "LS", "{}").into()]);
    let mut request = hello();
    let call = base::model::call::ToolCall { id: "call_0".into(), name: "LS".into(), args: "{}".into() };
    request.messages.push(Message::Call(Arc::new(call)));
    request.messages.push(Message::Result { call_id: "call_0".into(), text: "a".into(), error: false });
    let events: Vec<_> = provider(ProviderKind::Openai, &server, quick()).stream(&request).collect().await;
    let called = events
        .iter()
        .any(|event| matches!(event, Ok(StreamEvent::Item(Item::ToolCall(call))) if &*call.id == "call_0_2"));
    assert!(called, "{events:?}");
}

#[tokio::test]
async fn script() {
    let script = r#"
# a comment
{"reasoning": "hm", "text": "Hello there", "chunks": 3, "calls": [{"name": "LS", "args": {"a": 1}}, {"name": "LS", "args": "{bad", "id": "z"}], "usage": {"input": 9, "output": 2}}
{"error": {"kind": "server", "message": "oops"}}
{"text": "Done."}
"#;
    let scripted = Scripted::from_text(script).unwrap();
    insta::assert_snapshot!(told(&ask(&scripted).await.unwrap()), @r#"
    (h)(m)Hello there[LS][LS]
    thinking hm 
    text Hello there
    call call_1 LS {"a":1}
    call z LS {bad
    ToolCalls in 9 cached 0 out 2
    "#);
    insta::assert_snapshot!(told(&ask(&scripted).await.unwrap()), @r"
    Done.
    try 2: server error (HTTP 500): oops
    text Done.
    Stop
    ");
    insta::assert_snapshot!(ask(&scripted).await.unwrap_err(), @"script error: it has 3 answers, and the agent asked for one more");
    insta::assert_snapshot!(Scripted::from_text("{}\n{\"txt\": 1}").err().unwrap(), @"script error: line 2: unknown field `txt`, expected one of `text`, `reasoning`, `calls`, `usage`, `finish`, `error`, `delay_ms`, `chunks` at line 1 column 6");
    insta::assert_snapshot!(Scripted::from_text("{\"error\": {\"kind\": \"odd\"}}").err().unwrap(), @"script error: line 1: unknown variant `odd`, expected one of `auth`, `not_found`, `bad_request`, `reasoning_rejected`, `context_full`, `rate_limited`, `server`, `connect`, `broken`, `stalled`, `protocol` at line 1 column 24");
}

#[tokio::test]
async fn local_server_probe() {
    let server = FakeServer::start(vec![]);
    let dead = "http://127.0.0.1:9/v1";
    assert_eq!(probe::find_among(&[("dead", dead)]).await, None);
    server.on_get("/v1/models", &json!({"data": [{"id": "m", "max_model_len": 4000}]}));
    let base = server.base_url();
    let found = probe::find_among(&[("dead", dead), ("fake", &base)]).await.unwrap();
    assert_eq!((found.base_url, found.models), (base, vec!["m".to_owned()]));
    let settings = settings(ProviderKind::Openai, &server);
    assert_eq!(probe::context_window(&settings).await.unwrap().tokens, 4000);
    server.on_get("/props", &json!({"default_generation_settings": {"n_ctx": 2048}}));
    assert_eq!(probe::context_window(&settings).await.unwrap().tokens, 2048);
    // The question to Ollama is a POST, which the server took for a chat.
    server.take_faults();
}

#[test]
fn usage_sum() {
    let mut sum = Usage::default();
    sum.add(&Usage { input: 2, output: 1, ..Usage::default() });
    assert_eq!((sum.input, FinishReason::Stop), (2, FinishReason::Stop));
}

fn is_done(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::Done { .. })
}

/// What a decoder makes of `bytes`: its events, or that it refused them.
fn decode(mut decoder: Box<dyn Decoder>, bytes: &[u8]) -> Result<Vec<StreamEvent>, ProviderError> {
    let (mut parser, mut events, mut out) = (SseParser::default(), Vec::new(), Vec::new());
    parser.push(bytes, &mut events)?;
    parser.finish(&mut events);
    for event in &events {
        if decoder.event(event, &mut out)?.is_break() {
            return Ok(out);
        }
    }
    decoder.end(&mut out)?;
    Ok(out)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn damaged_answers_are_refused_or_end_properly(
        damage in prop::collection::vec((0usize..3000, any::<u8>(), 0usize..4), 1..8),
    ) {
        for dialect in [Dialect::Chat, Dialect::Responses, Dialect::Anthropic] {
            let steps = rich().steps(dialect, 1, (0, 0, 0));
            let mut bytes: Vec<u8> = steps
                .into_iter()
                .flat_map(|step| if let Step::Bytes(bytes) = step { bytes } else { vec![] })
                .collect();
            for &(place, byte, kind) in &damage {
                let place = place % bytes.len();
                match kind {
                    0 => bytes[place] = byte,
                    1 => bytes.insert(place, byte),
                    2 => bytes.extend_from_within(place..(place + usize::from(byte)).min(bytes.len())),
                    _ => drop(bytes.drain(place..(place + usize::from(byte)).min(bytes.len() - 1).max(place))),
                }
            }
            let decoder: Box<dyn Decoder> = match dialect {
                Dialect::Chat => Box::new(ChatDecoder::new(ReplyState::default())),
                Dialect::Responses => Box::new(ResponsesDecoder::new(ReplyState::default())),
                Dialect::Anthropic => Box::new(AnthropicDecoder::new(ReplyState::default())),
            };
            if let Ok(events) = decode(decoder, &bytes) {
                let ends = events.iter().filter(|event| is_done(event)).count();
                prop_assert_eq!(ends, 1);
                prop_assert!(events.last().is_some_and(is_done), "{:?}", events);
            }
        }
    }

    #[test]
    fn any_chunking_gives_the_same_events(
        lines in prop::collection::vec(
            prop_oneof!["", "data: [a-z日🦀]{0,6}", "data:[a-z]{0,3}", "event: [a-z]{1,3}", ": [a-z]{0,3}", "id: 1"], 0..20),
        ends in prop::collection::vec(prop_oneof![Just("\n"), Just("\r\n"), Just("\r")], 20),
        cuts in prop::collection::vec(0usize..200, 0..12),
    ) {
        let text: String = lines.iter().zip(&ends).map(|(line, end)| format!("{line}{end}")).collect();
        let bytes = text.as_bytes();
        let parse = |cuts: &[usize]| {
            let mut parser = SseParser::default();
            let mut events = Vec::new();
            let mut start = 0;
            for &cut in cuts.iter().filter(|&&cut| cut <= bytes.len()) {
                parser.push(&bytes[start..cut.max(start)], &mut events).unwrap();
                start = start.max(cut);
            }
            parser.push(&bytes[start..], &mut events).unwrap();
            parser.finish(&mut events);
            events
        };
        let mut cuts = cuts;
        cuts.sort_unstable();
        let every: Vec<usize> = (0..bytes.len()).collect();
        prop_assert_eq!(parse(&cuts), parse(&[]));
        prop_assert_eq!(parse(&every), parse(&[]));
    }
}
